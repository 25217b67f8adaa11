// What is read once for all files of the client: see CMakeLists.txt.
#pragma once

#include <grpcpp/grpcpp.h>

#include "arbiter/v1/game.grpc.pb.h"
#include "arbiter/v1/match.grpc.pb.h"
#include "arbiter/v1/play.grpc.pb.h"
#include "arbiter/v1/player.grpc.pb.h"
#include "arbiter/v1/rating.grpc.pb.h"
#include "arbiter/v1/server.grpc.pb.h"
#include "arbiter/v1/tournament.grpc.pb.h"
