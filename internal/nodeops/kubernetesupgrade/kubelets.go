package kubernetesupgrade

import (
	"context"
	"errors"
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/nodeops/kubernetesclient"
)

// upgradeKubelet upgrades the kubelet of one node and waits until its Node reports the version and is Ready. Pods keep running
// while their kubelet restarts, so nothing is drained, as in `talosctl upgrade-k8s`.
func (u Upgrade) upgradeKubelet(ctx context.Context, m member, networked bool) error {
	wanted := retagged(m.images[k8s.KubeletID], u.To)
	if m.images[k8s.KubeletID] != wanted {
		u.say("kubelet of %s: %s → %s", m.Name, m.kubelet, u.To)
		if err := u.patch(ctx, m.Node, func(config *v1alpha1.Config) { setKubelet(config, wanted) }); err != nil {
			return fmt.Errorf("the kubelet of %s is not upgraded, because its machine configuration cannot be changed (%w): run up again; it goes on from here", m.Name, err)
		}
	}
	isGone := false
	err := u.await(ctx, u.Limits.Component, func(ctx context.Context) error {
		err := u.runsKubelet(ctx, m, networked)
		if isGone = apierrors.IsNotFound(err) && !m.ControlPlane; isGone {
			return nil
		}
		return err
	})
	switch {
	case isGone:
		return fmt.Errorf("the Node of %s was deleted while its kubelet was upgraded: run up again; it goes on from here", m.Name)
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("waiting for the kubelet of %s: %w", m.Name, err)
	default:
		return fmt.Errorf("the kubelet %s of %s does not work after %s (%w): talosctl -n %s logs kubelet says why; mend that, then run up again; no other node is touched until it works", u.To, m.Name, u.Limits.Component, err, m.Address)
	}
}

func (u Upgrade) runsKubelet(ctx context.Context, m member, networked bool) error {
	var node *corev1.Node
	err := u.atSomeControlPlane(ctx, func(ctx context.Context, api clients) (err error) {
		node, err = api.kubernetes.CoreV1().Nodes().Get(ctx, m.Name, metav1.GetOptions{})
		return err
	})
	if err != nil {
		return err
	}
	runs, err := kubeletOf(*node)
	switch {
	case err != nil:
		return err
	case runs.Compare(u.To) != 0:
		return fmt.Errorf("its Node reports %s", runs)
	case networked && !kubernetesclient.IsReady(node):
		return errors.New("its Node is not Ready")
	default:
		return nil
	}
}

func setKubelet(config *v1alpha1.Config, image string) {
	if config.MachineConfig == nil {
		config.MachineConfig = &v1alpha1.MachineConfig{}
	}
	if config.MachineConfig.MachineKubelet == nil {
		config.MachineConfig.MachineKubelet = &v1alpha1.KubeletConfig{}
	}
	config.MachineConfig.MachineKubelet.KubeletImage = image
}
