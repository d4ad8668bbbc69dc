package talos_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/image-factory/pkg/constants"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

const newerImage = "factory.talos.dev/nocloud-installer/aaaaaaaad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba00:v1.12.5"

// withExtensions returns releases of which the newer has an extension; other versions are unknown.
func withExtensions(c *talos.Config) {
	c.Installer = func(ref string) (talos.Release, error) {
		release, err := talos.ReleaseFromReference(ref)
		if err != nil {
			return release, err
		}

		switch release.Version {
		case "v1.12.4":
		case "v1.12.5":
			release.Extensions = []talos.Extension{{Name: "qemu-guest-agent", Version: "10.1.0"}}
		default:
			return release, errors.New("manifest unknown")
		}

		return release, nil
	}
}

// runningVersion returns the version that a node reports, with its extensions.
func (c *cluster) runningVersion(vmid int) (string, []string) {
	c.lab.t.Helper()

	version, err := c.admin(vmid).Version(c.lab.t.Context())
	require.NoError(c.lab.t, err)

	extensions, err := safe.StateListAll[*runtime.ExtensionStatus](c.lab.t.Context(), c.admin(vmid).COSI)
	require.NoError(c.lab.t, err)

	var names []string
	for extension := range extensions.All() {
		if name := extension.TypedSpec().Metadata.Name; name != constants.SchematicIDExtensionName {
			names = append(names, name)
		}
	}

	return version.GetMessages()[0].GetVersion().GetTag(), names
}

func TestUpgradeAndRollback(t *testing.T) {
	t.Parallel()

	for name, stage := range map[string]bool{"at once": false, "staged": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			l := newLab(t, withExtensions)
			c := l.controlPlaneUp("k3s-dev")
			c.waitHealthy(101, "etcd")
			boot := c.bootID(101)

			answer, err := c.admin(101).UpgradeWithOptions(t.Context(), client.WithUpgradeImage(newerImage), client.WithUpgradeStage(stage))
			require.NoError(t, err)
			require.Equal(t, "Upgrade request received", answer.GetMessages()[0].GetAck())
			require.NotEmpty(t, answer.GetMessages()[0].GetActorId())

			c.waitNewBoot(101, boot)
			l.eventually(func() bool { return l.node(101).Stage == talos.StageRunning }, "the node does not come back")
			c.waitAPI(101)

			version, extensions := c.runningVersion(101)
			require.Equal(t, "v1.12.5", version)
			require.Equal(t, []string{"qemu-guest-agent"}, extensions)
			c.waitHealthy(101, "etcd")

			boot = c.bootID(101)
			require.NoError(t, c.admin(101).Rollback(t.Context()))
			c.waitNewBoot(101, boot)

			version, extensions = c.runningVersion(101)
			require.Equal(t, "v1.12.4", version)
			require.Empty(t, extensions)
		})
	}
}

func TestUpgradeRefuses(t *testing.T) {
	t.Parallel()

	l := newLab(t, withExtensions)
	c := l.controlPlaneUp("ha")
	l.install(102, c.controlPlane())
	c.waitMembers(101, map[string]bool{"vm-101": false, "vm-102": false})

	upgrade := func(image string, force bool) error {
		_, err := c.admin(101).UpgradeWithOptions(t.Context(), client.WithUpgradeImage(image), client.WithUpgradeForce(force))

		return err
	}

	require.EqualError(t, upgrade("ghcr.io/siderolabs/installer:v1.99.0", false),
		`rpc error: code = Unknown desc = error validating installer image "ghcr.io/siderolabs/installer:v1.99.0": 1 error(s) occurred:`+
			"\n\t"+`failed to pull image "ghcr.io/siderolabs/installer:v1.99.0": failed to resolve image: manifest unknown`)
	require.EqualError(t, upgrade(newerImage, false),
		"rpc error: code = Unknown desc = error validating etcd for upgrade: etcd member count(2) is insufficient to maintain quorum if upgrade commences")
	require.EqualError(t, c.admin(101).Rollback(t.Context()), `rpc error: code = Unknown desc = cannot rollback to "", label does not exist`)
}

// TestUpgradeNeedsEveryMember: if one of three is off, another one must not go down.
func TestUpgradeNeedsEveryMember(t *testing.T) {
	t.Parallel()

	l := newLab(t, withExtensions)
	c := l.threeControlPlanes()
	require.NoError(t, l.fleet.PowerOff(103))

	_, err := c.admin(101).UpgradeWithOptions(t.Context(), client.WithUpgradeImage(newerImage))
	require.Equal(t, codes.DeadlineExceeded, status.Code(err), "as the etcd client's error has it")
	require.Regexp(t, `^error validating etcd for upgrade: etcd member [0-9a-f]{16} is not healthy; all members must be healthy to perform an upgrade: context deadline exceeded$`,
		status.Convert(err).Message())
}

func TestServicesByAPI(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	c.waitHealthy(101, "kubelet")

	admin := c.admin(101)

	_, err := admin.ServiceStop(t.Context(), "kubelet")
	require.NoError(t, err)

	state, healthy := c.serviceState(101, "kubelet")
	require.Equal(t, "Finished", state)
	require.False(t, healthy)

	_, err = admin.ServiceRestart(t.Context(), "kubelet")
	require.NoError(t, err)
	c.waitHealthy(101, "kubelet")

	_, err = admin.ServiceRestart(t.Context(), "apid")
	require.EqualError(t, err, `rpc error: code = Unknown desc = service "apid" doesn't support restart operation via API`)

	_, err = admin.ServiceStop(t.Context(), "sshd")
	require.EqualError(t, err, `rpc error: code = Unknown desc = service "sshd" not defined`)
}

// TestMachineStatusEvents checks the events that clients follow during a boot: the stages, and which services are missing (talos v1.12.4,
// controllers/runtime/machine_status.go).
func TestMachineStatusEvents(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	c.waitHealthy(101, "etcd")

	events := make(chan client.EventResult)
	require.NoError(t, c.admin(101).EventsWatchV2(t.Context(), events, client.WithTailEvents(-1)))

	var (
		stages []machine.MachineStatusEvent_MachineStage
		unmet  []*machine.MachineStatusEvent_MachineStatus_UnmetCondition
	)

	for event := range events {
		require.NoError(t, event.Error)

		if status, ok := event.Event.Payload.(*machine.MachineStatusEvent); ok {
			stages = append(stages, status.GetStage())
			unmet = append(unmet, status.GetStatus().GetUnmetConditions()...)

			if status.GetStage() == machine.MachineStatusEvent_RUNNING && status.GetStatus().GetReady() {
				break
			}
		}
	}

	require.Equal(t, []machine.MachineStatusEvent_MachineStage{
		machine.MachineStatusEvent_BOOTING, machine.MachineStatusEvent_RUNNING,
	}, slices.Compact(stages))
	require.Equal(t, "apid not running, machined not running, kubelet not running", unmet[0].GetReason())
	require.Equal(t, "etcd not running", unmet[len(unmet)-1].GetReason(), "a control plane boots until its etcd is healthy")
}
