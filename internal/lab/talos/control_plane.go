package talos

import (
	"context"
	"errors"

	etcdres "github.com/siderolabs/talos/pkg/machinery/resources/etcd"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// staticPods returns the names that the kubelet gives the control plane's pods.
func (s *system) staticPods() ([]string, error) {
	n, err := s.network(s.config())

	return []string{
		"kube-system/kube-apiserver-" + n.hostname,
		"kube-system/kube-controller-manager-" + n.hostname,
		"kube-system/kube-scheduler-" + n.hostname,
	}, err
}

// startStaticPods starts the control plane's pods once its etcd is healthy, unless they run.
func (s *system) startStaticPods() error {
	s.mu.Lock()
	started := s.pods.static
	s.mu.Unlock()

	if started {
		return s.publishStaticPods()
	}

	late := s.vm.effect(StepStaticPods).Late
	if late == 0 {
		return s.runStaticPods()
	}

	s.inBackground(func(ctx context.Context) error {
		if err := s.fleet.config.Pace.Sleep(ctx, late); err != nil {
			return err
		}

		return s.runStaticPods()
	})

	return nil
}

func (s *system) runStaticPods() error {
	s.mu.Lock()
	s.pods.static = true
	s.mu.Unlock()

	s.tellKubernetes()

	return s.publishStaticPods()
}

// publishStaticPods publishes the control plane's pods as running.
func (s *system) publishStaticPods() error {
	ids, err := s.staticPods()
	errs := []error{err}

	for _, id := range ids {
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
	ids, err := s.staticPods()

	errs := []error{err}
	for _, id := range ids {
		errs = append(errs, withdraw(s, k8s.NewStaticPodStatus(k8s.NamespaceName, id)))
	}

	return errors.Join(errs...)
}

// etcdHealth publishes what depends on the health of etcd: the service, the member, the control plane's static pods, and the
// stage of the machine. The boot ends when etcd is healthy.
func (s *system) etcdHealth(status etcd.Status, stage runtime.MachineStage) error {
	if status.Leader == 0 {
		return errors.Join(
			s.services.SetHealth("etcd", false, etcd.ErrNoLeader.Error()),
			s.enterStage(stage),
		)
	}

	return errors.Join(
		s.services.SetHealth("etcd", true, ""),
		put(s, etcdres.NewMember(etcdres.NamespaceName, etcdres.LocalMemberID), func(r *etcdres.Member) {
			r.TypedSpec().MemberID = etcd.FormatID(status.Member.ID)
		}),
		s.startStaticPods(),
		s.enterStage(stage),
	)
}
