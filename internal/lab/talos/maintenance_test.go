package talos_test

import (
	"context"
	"testing"
	"time"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"
	"github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/talos"
)

// TestMaintenanceRefuses checks Talos v1.12's answers to calls that maintenance mode does not support.
func TestMaintenanceRefuses(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	l.powerOn(101)
	l.waitStage(101, talos.StageMaintenance)

	insecure := l.insecure(101)
	worker := l.cluster("k3s-dev").worker()

	apply := func(mode machine.ApplyConfigurationRequest_Mode, data []byte) func(context.Context, *client.Client) error {
		return func(ctx context.Context, c *client.Client) error {
			_, err := c.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{Data: data, Mode: mode})

			return err
		}
	}

	for _, test := range []struct {
		name string
		call func(context.Context, *client.Client) error
		code codes.Code
		text string
	}{
		{
			"version", func(ctx context.Context, c *client.Client) error { _, err := c.Version(ctx); return err },
			codes.Unimplemented, "API is not implemented in maintenance mode",
		},
		{
			"reset", func(ctx context.Context, c *client.Client) error { return c.Reset(ctx, true, true) },
			codes.Unimplemented, "API is not implemented in maintenance mode",
		},
		{
			"upgrade", func(ctx context.Context, c *client.Client) error {
				_, err := c.Upgrade(ctx, installerImage, false, false)
				return err
			},
			codes.Unimplemented, "API is not implemented in maintenance mode",
		},
		{
			"bootstrap", func(ctx context.Context, c *client.Client) error {
				return c.Bootstrap(ctx, &machine.BootstrapRequest{})
			},
			codes.Unimplemented, "method Bootstrap not implemented",
		},
		{
			"services", func(ctx context.Context, c *client.Client) error { _, err := c.ServiceList(ctx); return err },
			codes.Unimplemented, "method ServiceList not implemented",
		},
		{
			"kubeconfig", func(ctx context.Context, c *client.Client) error { _, err := c.Kubeconfig(ctx); return err },
			codes.Unimplemented, "method Kubeconfig not implemented",
		},
		{"client configuration", func(ctx context.Context, c *client.Client) error {
			_, err := c.GenerateClientConfiguration(ctx, &machine.GenerateClientConfigurationRequest{})

			return err
		}, codes.Unimplemented, "client configuration (talosconfig) can't be generated in the maintenance mode"},
		{
			"apply without reboot", apply(machine.ApplyConfigurationRequest_NO_REBOOT, worker),
			codes.Unimplemented, "apply configuration --mode='no-reboot' is not supported in maintenance mode",
		},
		{
			"apply staged", apply(machine.ApplyConfigurationRequest_STAGED, worker),
			codes.Unimplemented, "apply configuration --mode='staged' is not supported in maintenance mode",
		},
		{
			"apply nonsense", apply(machine.ApplyConfigurationRequest_AUTO, []byte("machine: {type: worker, colour: blue}")),
			codes.Unknown, "failed to parse config: error decoding document /v1alpha1/ (line 1): unknown keys found during decoding:\nmachine:\n    colour: blue\n",
		},
		{
			"apply incomplete", apply(machine.ApplyConfigurationRequest_AUTO, []byte("version: v1alpha1\nmachine: {type: worker}\ncluster: {}")),
			codes.InvalidArgument, "configuration validation failed: 1 error occurred:\n\t* v1alpha1.Config: 2 errors occurred:\n\t* cluster controlplane endpoint is required\n" +
				"\t* issuing CA or some accepted CAs are required (.machine.ca, machine.acceptedCAs)\n\n\n\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			err := test.call(t.Context(), insecure)
			require.Equal(t, test.code, status.Code(err), "%v", err)
			require.Equal(t, test.text, status.Convert(err).Message())
		})
	}
}

func TestMaintenanceShowsTheMachine(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	l.powerOn(101)
	l.waitStage(101, talos.StageMaintenance)

	insecure := l.insecure(101)

	disks, err := insecure.Disks(client.WithNode(t.Context(), l.address(101).String()))
	require.NoError(t, err)
	require.Len(t, disks.GetMessages()[0].GetDisks(), 2)
	require.Equal(t, "/dev/sda", disks.GetMessages()[0].GetDisks()[0].GetDeviceName())
	require.EqualValues(t, 64<<30, disks.GetMessages()[0].GetDisks()[0].GetSize())
	require.False(t, disks.GetMessages()[0].GetDisks()[0].GetSystemDisk())
	require.Equal(t, "/dev/sr0", disks.GetMessages()[0].GetDisks()[1].GetDeviceName())

	stage, err := safe.StateGetByID[*runtime.MachineStatus](t.Context(), insecure.COSI, runtime.MachineStatusID)
	require.NoError(t, err)
	require.Equal(t, runtime.MachineStageMaintenance, stage.TypedSpec().Stage)

	volume, err := safe.StateGetByID[*block.VolumeStatus](t.Context(), insecure.COSI, "STATE")
	require.NoError(t, err)
	require.Equal(t, block.VolumePhaseMissing, volume.TypedSpec().Phase)

	_, err = safe.StateListAll[*config.MachineConfig](t.Context(), insecure.COSI)
	require.Equal(t, codes.PermissionDenied, status.Code(err), "a secret is not for readers: %v", err)
	require.Equal(t, "not authorized", status.Convert(err).Message())
}

func TestMaintenanceDryRunChangesNothing(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	l.powerOn(101)
	l.waitStage(101, talos.StageMaintenance)

	answer, err := l.insecure(101).ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{
		Data: l.cluster("k3s-dev").controlPlane(), DryRun: true,
	})
	require.NoError(t, err)
	require.Equal(t, "Dry run summary:\nNode is running in maintenance mode and does not have a config yet.",
		answer.GetMessages()[0].GetModeDetails())

	// the next configuration still counts as the first one
	l.apply(101, l.cluster("other").controlPlane())
	l.waitStage(101, talos.StageRunning)
	require.Equal(t, "other", l.node(101).Cluster)
}

// TestInstallationFails: the node reports success, fails to install and returns to maintenance mode.
func TestInstallationFails(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name   string
		disks  []talos.Disk
		fault  string
		reason string
	}{
		{
			"no such disk",
			[]talos.Disk{{ID: "virtio", Bus: talos.BusVirtIO, Bytes: 64 << 30}},
			"",
			"install: lstat /dev/sda: no such file or directory",
		},
		{
			"disk too small",
			[]talos.Disk{{ID: "small", Bytes: 4 << 30}},
			"",
			"install: disk /dev/sda has 4096 MiB, Talos needs 4250 MiB",
		},
		{
			"installer fails",
			[]talos.Disk{{ID: "good", Bytes: 64 << 30}},
			talos.FaultInstallFails,
			"install: installer exited with code 1",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			l := newLab(t)
			if test.fault != "" {
				require.NoError(t, l.faults.Set(fault.Fault{Name: test.fault}))
			}

			machine := l.hardware(101)
			machine.Disks = test.disks
			require.NoError(t, l.fleet.PowerOn(t.Context(), machine))
			l.waitStage(101, talos.StageMaintenance)
			l.apply(101, l.cluster("k3s-dev").controlPlane())

			l.eventually(func() bool { return l.log.has("failure", test.reason) }, "the installation does not fail")
			l.waitStage(101, talos.StageMaintenance)
		})
	}
}

// TestMachineWithoutMedium does not boot, and does not react to the power button.
func TestMachineWithoutMedium(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	machine := l.hardware(101)
	machine.ISO = ""
	require.NoError(t, l.fleet.PowerOn(t.Context(), machine))
	l.waitStage(101, talos.StageUnbootable)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.EqualError(t, l.fleet.Shutdown(ctx, 101), "shut down machine 101: context deadline exceeded")

	require.NoError(t, l.fleet.PowerOff(101))
	require.Equal(t, talos.StageOff, l.node(101).Stage)
	require.Empty(t, l.poweredOff(), "the host knows what it does itself")
}
