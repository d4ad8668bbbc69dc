package talos

import (
	"errors"
	"fmt"

	"github.com/siderolabs/talos/pkg/argsbuilder"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
)

// publishStaticPodSpecs publishes the static pods that Talos gives to the kubelet (k8s/control_plane_static_pod.go), as far as
// clients read them: name, image, and the command with the arguments of the machine configuration. The only one of Talos' own
// arguments is the list of admission plugins, to which the machine configuration adds.
func (s *system) publishStaticPodSpecs(cfg config.Provider) error {
	cluster, plane := cfg.Cluster(), cfg.Machine().Controlplane()

	return errors.Join(
		s.publishStaticPodSpec(k8s.APIServerID, true, cluster.APIServer().Image(), argsbuilder.Args{"enable-admission-plugins": "NodeRestriction"}, cluster.APIServer().ExtraArgs()),
		s.publishStaticPodSpec(k8s.ControllerManagerID, !plane.ControllerManager().Disabled(), cluster.ControllerManager().Image(), argsbuilder.Args{}, cluster.ControllerManager().ExtraArgs()),
		s.publishStaticPodSpec(k8s.SchedulerID, !plane.Scheduler().Disabled(), cluster.Scheduler().Image(), argsbuilder.Args{}, cluster.Scheduler().ExtraArgs()),
	)
}

func (s *system) publishStaticPodSpec(id string, enabled bool, image string, args, extra argsbuilder.Args) error {
	r := k8s.NewStaticPod(k8s.NamespaceName, id)
	if !enabled {
		return withdraw(s, r)
	}

	policies := argsbuilder.MergePolicies{"enable-admission-plugins": argsbuilder.MergeAdditive, "feature-gates": argsbuilder.MergeAdditive}
	if err := args.Merge(extra, argsbuilder.WithMergePolicies(policies)); err != nil {
		return fmt.Errorf("arguments of %s: %w", id, err)
	}

	command := []any{"/usr/local/bin/" + id}
	for _, arg := range args.Args() {
		command = append(command, arg)
	}

	return put(s, r, func(r *k8s.StaticPod) {
		r.TypedSpec().Pod = map[string]any{
			"apiVersion": "v1", "kind": "Pod",
			"metadata": map[string]any{"name": id, "namespace": "kube-system"},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": id, "image": image, "command": command}}},
		}
	})
}
