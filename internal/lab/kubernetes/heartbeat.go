package kubernetes

import "time"

// heartbeat is how often a kubelet says that it is alive, and how soon it is missed.
type heartbeat struct {
	// renew is the interval of the lease, which is valid for lease.
	renew, lease time.Duration
	// monitor is how often the controller manager looks, and grace the silence after which a node is NotReady.
	monitor, grace time.Duration
}

// Values of Kubernetes 1.35: a lease of 40 s that is renewed after a quarter of it (pkg/kubelet/apis/config/v1beta1 and
// pkg/kubelet/kubelet.go), a look every 5 s, a grace of 50 s (pkg/controller/nodelifecycle/config/v1alpha1).
const renewInterval = 10 * time.Second

// leastRenewInterval keeps fifty nodes at scale 0 from keeping a small machine busy.
const leastRenewInterval = 2 * time.Second

// newHeartbeat is Kubernetes' own at the lab's time scale, in its own proportions.
func newHeartbeat(scaled func(time.Duration) time.Duration) heartbeat {
	renew := max(scaled(renewInterval), leastRenewInterval)
	return heartbeat{renew: renew, lease: 4 * renew, monitor: renew / 2, grace: 5 * renew}
}
