package kubernetes

import "time"

// heartbeat has the intervals at which a kubelet reports, and after which it counts as lost.
type heartbeat struct {
	// renew is the interval at which the lease is renewed; lease is its validity.
	renew, lease time.Duration
	// monitor is the interval at which the controller manager checks; grace is the silence after which a node is NotReady.
	monitor, grace time.Duration
}

// Values of Kubernetes 1.35: a lease of 40 s, renewed after a quarter of it (pkg/kubelet/apis/config/v1beta1 and
// pkg/kubelet/kubelet.go), a check every 5 s, a grace period of 50 s (pkg/controller/nodelifecycle/config/v1alpha1).
const renewInterval = 10 * time.Second

// leastRenewInterval prevents fifty nodes at scale 0 from overloading a small machine.
const leastRenewInterval = 2 * time.Second

// newHeartbeat returns Kubernetes' intervals at the lab's time scale, in the same proportions.
func newHeartbeat(scaled func(time.Duration) time.Duration) heartbeat {
	renew := max(scaled(renewInterval), leastRenewInterval)
	return heartbeat{renew: renew, lease: 4 * renew, monitor: renew / 2, grace: 5 * renew}
}
