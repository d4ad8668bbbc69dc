package nodeops

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/machinery/client"
	talosconfig "github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/nethelpers"
	"github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"github.com/em-infra/em-infra/internal/versions"
)

// Observation is the state that a node reports.
type Observation struct {
	// Talos is the release that runs, e.g. v1.12.4.
	Talos string `json:"talos"`
	// Schematic is the ID of the Image Factory's schematic that the running image was made from; empty when it was made
	// elsewhere.
	Schematic string `json:"schematic,omitempty"`
	// Stage of its life, e.g. booting or running (talos, resources/runtime/machine_stage.go).
	Stage string `json:"stage"`
	// Unmet conditions keep the node from being ready at its stage, as in `services: kubelet not healthy`. None for a node
	// that is ready.
	Unmet []string `json:"unmet,omitempty"`
	// InstalledOn is the drive that Talos is installed on, by its name in Proxmox VE, e.g. scsi0. It is the path of the device for a disk on another
	// bus, and empty if unknown.
	InstalledOn string `json:"installedOn,omitempty"`
	// Volumes that the configuration asks for.
	Volumes []Volume `json:"volumes,omitempty"`
	// Gateways are those of the default routes that the kernel uses, IPv4 before IPv6.
	Gateways []netip.Addr `json:"gateways,omitempty"`
	// Kubelet and APIServer are the versions of Kubernetes that the node is configured for, e.g. v1.35.4; APIServer is empty on a worker. Each is
	// empty if the tag of its image is no version.
	Kubelet   string `json:"-"`
	APIServer string `json:"-"`
	// Configuration is the machine configuration that the node runs with. Secret.
	Configuration []byte `json:"-"`
}

// Release returns what the node runs.
func (o Observation) Release() Release { return Release{Version: o.Talos, Schematic: o.Schematic} }

// Observe reads the state of one node from its own API. The error is the node's answer, for use inside a sentence.
func (h Health) Observe(ctx context.Context, address string) (Observation, error) {
	var seen Observation
	err := h.ask(ctx, address, seen.read)
	return seen, err
}

// errSlow is the error of a node that has answered a call, and not all of them in time. It is not silent.
var errSlow = fmt.Errorf("its Talos API answers slowly, and has not said everything within %s", callTimeout)

func (o *Observation) read(ctx context.Context, api *client.Client) error {
	release, err := readRelease(ctx, api)
	o.Talos, o.Schematic = release.Version, release.Schematic
	if err == nil {
		err = o.readResources(ctx, api.COSI)
	}
	if hasAnswered := o.Talos != ""; hasAnswered && isDeadline(err) && ctx.Err() != nil {
		return errSlow
	}
	return err
}

func (o *Observation) readResources(ctx context.Context, resources state.State) error {
	if err := o.readStage(ctx, resources); err != nil {
		return err
	}
	if err := o.readDisks(ctx, resources); err != nil {
		return err
	}
	if err := o.readGateways(ctx, resources); err != nil {
		return err
	}
	return o.readConfiguration(ctx, resources)
}

func (o *Observation) readStage(ctx context.Context, resources state.State) error {
	status, err := safe.StateGetByID[*runtime.MachineStatus](ctx, resources, runtime.MachineStatusID)
	if err != nil {
		return err
	}
	o.Stage = status.TypedSpec().Stage.String()
	for _, condition := range status.TypedSpec().Status.UnmetConditions {
		o.Unmet = append(o.Unmet, condition.Name+": "+condition.Reason)
	}
	return nil
}

// readGateways reads the default route with the lowest metric of each family from the kernel. It reads RouteStatus, not
// RouteSpec: the kernel may have refused a route that Talos requested.
func (o *Observation) readGateways(ctx context.Context, resources state.State) error {
	routes, err := safe.StateListAll[*network.RouteStatus](ctx, resources)
	if err != nil {
		return err
	}
	best := map[nethelpers.Family]*network.RouteStatusSpec{}
	for route := range routes.All() {
		spec := route.TypedSpec()
		if spec.Table != nethelpers.TableMain || !spec.Gateway.IsValid() || spec.Destination.Bits() > 0 {
			continue
		}
		if former := best[spec.Family]; former == nil || spec.Priority < former.Priority {
			best[spec.Family] = spec
		}
	}
	for _, family := range []nethelpers.Family{nethelpers.FamilyInet4, nethelpers.FamilyInet6} {
		if spec := best[family]; spec != nil {
			o.Gateways = append(o.Gateways, spec.Gateway)
		}
	}
	return nil
}

func (o *Observation) readConfiguration(ctx context.Context, resources state.State) (err error) {
	active, err := safe.StateGetByID[*config.MachineConfig](ctx, resources, config.ActiveID)
	if err != nil {
		return err
	}
	o.readKubernetes(active.Provider())
	o.Configuration, err = active.Provider().Bytes()
	return err
}

// readKubernetes reads the versions of the static pod and the kubelet that Talos starts from a configuration.
func (o *Observation) readKubernetes(configuration talosconfig.Provider) {
	machine, cluster := configuration.Machine(), configuration.Cluster()
	if machine == nil || cluster == nil {
		return
	}
	o.Kubelet = versionOfImage(machine.Kubelet().Image())
	if machine.Type().IsControlPlane() {
		o.APIServer = versionOfImage(cluster.APIServer().Image())
	}
}

// versionOfImage returns the version in an image's reference, REGISTRY/NAME:TAG or REGISTRY/NAME:TAG@DIGEST; empty if the tag is no version.
func versionOfImage(reference string) string {
	reference, _, _ = strings.Cut(reference, "@")
	tag := reference[strings.LastIndex(reference, ":")+1:]
	if version, err := versions.Parse(tag); err == nil {
		return version.String()
	}
	return ""
}
