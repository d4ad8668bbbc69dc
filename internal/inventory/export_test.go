package inventory

// Floor is the least that a node of a role needs.
var Floor = floor
