"""What every door asks first: who calls, what that allows, how often, how much; and the use cases behind each call."""
