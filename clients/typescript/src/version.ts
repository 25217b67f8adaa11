/** The description of this client. */

/** The version of the protocol that it speaks. */
export const PROTOCOL_VERSION = "1.0";
/** Its name. */
export const SOFTWARE = "arbiter-client-typescript";
/** Its version, as in package.json. */
export const SOFTWARE_VERSION = "0.1.0";
