package talos

import (
	"errors"

	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
)

// staticPods are the control plane's pods by the names that the kubelet gives them.
func (s *system) staticPods() []string {
	hostname := s.config().NetworkHostnameConfig().Hostname()
	if n, err := s.network(s.config()); err == nil {
		hostname = n.hostname
	}

	return []string{
		"kube-system/kube-apiserver-" + hostname,
		"kube-system/kube-controller-manager-" + hostname,
		"kube-system/kube-scheduler-" + hostname,
	}
}

// publishStaticPods publishes the control plane's pods as running.
func (s *system) publishStaticPods() error {
	var errs []error

	for _, id := range s.staticPods() {
		errs = append(errs, put(s, k8s.NewStaticPodStatus(k8s.NamespaceName, id), func(r *k8s.StaticPodStatus) {
			r.TypedSpec().PodStatus = map[string]any{
				"phase":      "Running",
				"conditions": []any{map[string]any{"type": "Ready", "status": "True"}},
			}
		}))
	}

	return errors.Join(errs...)
}

func (s *system) clearStaticPods() error {
	var errs []error
	for _, id := range s.staticPods() {
		errs = append(errs, withdraw(s, k8s.NewStaticPodStatus(k8s.NamespaceName, id)))
	}

	return errors.Join(errs...)
}
