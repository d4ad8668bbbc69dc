package pve

import "time"

// Impatient is a host that is asked often, and whose locks count as left behind after the given time.
func Impatient(h Host, patience time.Duration) Host {
	h.interval, h.patience = 10*time.Millisecond, patience
	return h
}
