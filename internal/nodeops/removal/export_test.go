package removal

// Drain is the part of Run that asks Kubernetes alone.
var Drain = Worker.drain
