package rolling

import "time"

// Options of a lane.
type Options struct {
	// MaxUnavailable is the number of workers that change at a time. Default: 1. Control planes always change alone.
	MaxUnavailable int
	// Patience is how long a change waits for the rest of the cluster to be healthy before it is refused. Default: 5 minutes,
	// in which a node that has just joined becomes a member.
	Patience time.Duration
	// Recovery is the longest time until a changed node works again. Default: 15 minutes, for a reboot on slow hardware.
	Recovery time.Duration
	// MinReady is how long a changed node must work before the next node may change. It reveals a node that fails soon after
	// its start, and changes that Talos starts only after its answer. Default: 10 seconds.
	MinReady time.Duration
	// Yield is how long a node that yields waits for others before it queues. Default: 5 seconds, in which all nodes of one
	// upgrade arrive.
	Yield time.Duration
	// Interval between two checks. Default: half a second.
	Interval time.Duration
	// Tell receives what a node in the lane or its queue waits for, and the longest time, each time that changes. Default:
	// nil, no messages.
	Tell func(node Node, what string)
}

func (o Options) withDefaults() Options {
	o.MaxUnavailable = max(o.MaxUnavailable, 1)
	if o.Patience == 0 {
		o.Patience = 5 * time.Minute
	}
	if o.Recovery == 0 {
		o.Recovery = 15 * time.Minute
	}
	if o.MinReady == 0 {
		o.MinReady = 10 * time.Second
	}
	if o.Yield == 0 {
		o.Yield = 5 * time.Second
	}
	if o.Interval == 0 {
		o.Interval = 500 * time.Millisecond
	}
	return o
}
