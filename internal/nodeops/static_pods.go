package nodeops

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// staticPodVersions holds, by pod name, the annotations of static pods that run the node's current configuration. Talos
// writes the versions of its own resources there. The version of a resource changes only with its content (talos v1.12.4,
// controllers/k8s/control_plane_static_pod.go), so a change that affects no static pod keeps the annotations and needs no
// wait.
type staticPodVersions map[string]map[string]string

// staticPods in the order of the checks.
var staticPods = []string{k8s.APIServerID, k8s.ControllerManagerID, k8s.SchedulerID}

// readStaticPodVersions reads the versions that the node's static pods should have now.
func readStaticPodVersions(ctx context.Context, resources state.State) (staticPodVersions, error) {
	api, apiErr := safe.StateGetByID[*k8s.APIServerConfig](ctx, resources, k8s.APIServerConfigID)
	manager, managerErr := safe.StateGetByID[*k8s.ControllerManagerConfig](ctx, resources, k8s.ControllerManagerConfigID)
	scheduler, schedulerErr := safe.StateGetByID[*k8s.SchedulerConfig](ctx, resources, k8s.SchedulerConfigID)
	files, filesErr := safe.StateGetByID[*k8s.ConfigStatus](ctx, resources, k8s.ConfigStatusStaticPodID)
	secrets, secretsErr := safe.StateGetByID[*k8s.SecretsStatus](ctx, resources, k8s.StaticPodSecretsStaticPodID)
	if err := unprepared(apiErr, managerErr, schedulerErr, filesErr, secretsErr); err != nil {
		return nil, err
	}
	versions := staticPodVersions{}
	add := func(id string, config resource.Resource) {
		versions[id] = map[string]string{
			constants.AnnotationStaticPodConfigVersion:     config.Metadata().Version().String(),
			constants.AnnotationStaticPodConfigFileVersion: files.TypedSpec().Version,
			constants.AnnotationStaticPodSecretsVersion:    secrets.TypedSpec().Version,
		}
	}
	add(k8s.APIServerID, api)
	if manager.TypedSpec().Enabled {
		add(k8s.ControllerManagerID, manager)
	}
	if scheduler.TypedSpec().Enabled {
		add(k8s.SchedulerID, scheduler)
	}
	return versions, nil
}

// unprepared returns why resources of static pods cannot be read: Talos creates them when it prepares the pods. Any other reason comes first,
// since a node that does not answer prepares nothing that could be waited for.
func unprepared(reasons ...error) error {
	at := slices.IndexFunc(reasons, func(err error) bool { return err != nil && !state.IsNotFoundError(err) })
	if at >= 0 {
		return reasons[at]
	}
	if errors.Join(reasons...) != nil {
		return errors.New("Talos has not prepared its static pods yet") //nolint:staticcheck // Talos is a name
	}
	return nil
}

// othersServe returns an error for each other control plane whose static pods do not run, or not with their current
// configuration. Without this check, a run that is started again would apply to the next control plane what has broken the
// one before.
func (h Health) othersServe(ctx context.Context, members []*machineapi.EtcdMember, changed rolling.Node) error {
	var problems []error
	for _, node := range h.controlPlanes(changed) {
		isMember := slices.ContainsFunc(members, func(m *machineapi.EtcdMember) bool {
			address, err := memberAddress(m)
			return err == nil && address == node.Address.String()
		})
		if node.Name == changed.Name || !isMember { // a control plane that is not a member yet is skipped
			continue
		}
		if err := h.Serves(ctx, node); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", node.Name, err))
		}
	}
	return errors.Join(problems...)
}

// Serves returns what the static pods of a control plane lack: each has to run with the node's current configuration, and the
// node's own API server has to be ready. The error is one clause about the node.
func (h Health) Serves(ctx context.Context, node rolling.Node) error {
	var versions staticPodVersions
	err := h.ask(ctx, node.Address.String(), func(ctx context.Context, api *client.Client) (err error) {
		versions, err = readStaticPodVersions(ctx, api.COSI)
		return err
	})
	if err != nil {
		return err
	}
	return h.staticPodsRun(ctx, node, versions)
}

// staticPodsRun returns what the static pods of a control plane lack. Each pod must have the current versions and be Ready,
// according to the API server at the node's own address. Talos' upgrade of Kubernetes waits for the same (talos v1.12.4,
// pkg/cluster/kubernetes/talos_managed.go, checkPodStatus). In addition, that API server must be ready.
func (h Health) staticPodsRun(ctx context.Context, node rolling.Node, wanted staticPodVersions) error {
	api, err := kubernetesAt(ctx, h.Talosconfig, node.Address.String())
	if err != nil {
		return err
	}
	defer api.Close()
	var list podList
	query := url.Values{"fieldSelector": {"spec.nodeName=" + node.Name}}
	if err := api.call(ctx, http.MethodGet, "/api/v1/namespaces/kube-system/pods?"+query.Encode(), nil, &list); err != nil {
		return fmt.Errorf("its Kubernetes API: %w", err)
	}
	for _, id := range staticPods {
		if err := list.runs(id, node.Name, wanted[id]); err != nil {
			return err
		}
	}
	return nil
}

// runs returns what a static pod lacks. A pod that is not wanted lacks nothing.
func (l podList) runs(id, node string, wanted map[string]string) error {
	if wanted == nil {
		return nil
	}
	for _, pod := range l.Items {
		if pod.Metadata.Name != id+"-"+node {
			continue
		}
		for _, annotation := range []string{
			constants.AnnotationStaticPodConfigVersion, constants.AnnotationStaticPodConfigFileVersion, constants.AnnotationStaticPodSecretsVersion,
		} {
			if pod.Metadata.Annotations[annotation] != wanted[annotation] {
				return fmt.Errorf("its %s runs by the former configuration", id)
			}
		}
		if !pod.isReady() {
			return fmt.Errorf("its %s does not run%s", id, pod.waitsFor())
		}
		return nil
	}
	return fmt.Errorf("its %s is not there", id)
}
