package talos_test

import (
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// label is a change that takes effect at once; environment is one that needs a reboot.
func label(c *v1alpha1.Config) {
	c.MachineConfig.MachineNodeLabels = map[string]string{"zone": "north"}
}

func environment(c *v1alpha1.Config) {
	c.MachineConfig.MachineEnv = map[string]string{"GRPC_GO_LOG_VERBOSITY_LEVEL": "99"}
}

const rebootReason = "this config change can't be applied in immediate mode\ndiff:\n"

// TestApplyModes checks the answers of a running node for each mode with each kind of change.
func TestApplyModes(t *testing.T) {
	t.Parallel()

	const (
		auto     = machine.ApplyConfigurationRequest_AUTO
		noReboot = machine.ApplyConfigurationRequest_NO_REBOOT
		reboot   = machine.ApplyConfigurationRequest_REBOOT
		staged   = machine.ApplyConfigurationRequest_STAGED
	)

	for _, test := range []struct {
		name    string
		mode    machine.ApplyConfigurationRequest_Mode
		patch   func(*v1alpha1.Config)
		dryRun  bool
		code    codes.Code
		became  machine.ApplyConfigurationRequest_Mode
		details string // prefix of the answer's details, or of the error
		reboots bool
	}{
		{"auto, light", auto, label, false, codes.OK, noReboot, "Applied configuration without a reboot", false},
		{"auto, heavy", auto, environment, false, codes.OK, reboot, "Applied configuration with a reboot: " + rebootReason, true},
		{
			"auto, heavy, dry", auto, environment, true, codes.OK, reboot,
			"Dry run summary:\nApplied configuration with a reboot (skipped in dry-run).\nConfig diff:\n\n", false,
		},
		{"no reboot, light", noReboot, label, false, codes.OK, noReboot, "Applied configuration without a reboot", false},
		{"no reboot, heavy", noReboot, environment, false, codes.InvalidArgument, noReboot, rebootReason, false},
		{"reboot, light", reboot, label, false, codes.OK, reboot, "Applied configuration with a reboot", true},
		{"staged, heavy", staged, environment, false, codes.OK, staged, "Staged configuration to be applied after the next reboot", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			l := newLab(t)
			c := l.controlPlaneUp("k3s-dev")
			before := c.bootID(101)

			answer, err := c.admin(101).ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{
				Data: c.controlPlane(test.patch), Mode: test.mode, DryRun: test.dryRun,
			})
			require.Equal(t, test.code, status.Code(err), "%v", err)

			if err != nil {
				require.True(t, len(status.Convert(err).Message()) > len(test.details))
				require.Equal(t, test.details, status.Convert(err).Message()[:len(test.details)])

				return
			}

			message := answer.GetMessages()[0]
			require.Equal(t, test.became, message.GetMode())
			require.Equal(t, test.details, message.GetModeDetails()[:len(test.details)])

			if test.reboots {
				c.waitNewBoot(101, before)
			} else {
				require.Equal(t, before, c.bootID(101))
			}
		})
	}
}

// waitNewBoot waits until a machine answers with another boot ID.
func (c *cluster) waitNewBoot(vmid int, before string) {
	c.lab.t.Helper()

	c.lab.eventually(func() bool {
		id, err := c.readBootID(vmid)

		return err == nil && id != before
	}, "machine %d does not reboot", vmid)
}

func TestApplyRefusesNonsense(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")

	for name, test := range map[string]struct {
		data []byte
		text string
	}{
		"no yaml":      {[]byte("machine: ["), "decode error: yaml: line 1: did not find expected node content"},
		"only a patch": {[]byte("apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: other\nauto: off\n"), "the applied machine configuration doesn't contain v1alpha1 config, did you mean to patch the machine config instead?"},
		"no authority": {[]byte("version: v1alpha1\nmachine: {type: worker}\ncluster: {}"), "1 error occurred:\n\t* v1alpha1.Config: 2 errors occurred:"},
		"old version": {c.controlPlane(func(c *v1alpha1.Config) {
			c.ClusterConfig.APIServerConfig.ContainerImage = "registry.k8s.io/kube-apiserver:v1.20.0"
		}), "1 error occurred:\n\t* v1alpha1.Config: 1 error occurred:\n\t* kube-apiserver image is not valid: "},
	} {
		_, err := c.admin(101).ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{Data: test.data})
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%s: %v", name, err)
		require.Contains(t, status.Convert(err).Message(), test.text, name)
	}
}

// TestStagedConfigurationWaitsForTheReboot checks that a staged configuration becomes active with the reboot.
func TestStagedConfigurationWaitsForTheReboot(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	before := c.bootID(101)

	_, err := c.admin(101).ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{
		Data: c.controlPlane(environment), Mode: machine.ApplyConfigurationRequest_STAGED,
	})
	require.NoError(t, err)
	require.False(t, c.runsBy(101, "GRPC_GO_LOG_VERBOSITY_LEVEL"))

	require.NoError(t, c.admin(101).Reboot(t.Context()))
	c.waitNewBoot(101, before)
	require.True(t, c.runsBy(101, "GRPC_GO_LOG_VERBOSITY_LEVEL"))
}

// TestTriedConfiguration checks that a tried configuration is reverted after its timeout, unless another one is applied
// before.
func TestTriedConfiguration(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name  string
		after func(*cluster)
		stays bool
	}{
		{"time runs out", func(*cluster) {}, false},
		{"applied for good", func(c *cluster) {
			_, err := c.admin(101).ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{
				Data: c.controlPlane(label), Mode: machine.ApplyConfigurationRequest_AUTO,
			})
			require.NoError(c.lab.t, err)
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			clock := newHeldPace(7 * time.Minute)
			l := newLab(t, func(c *talos.Config) { c.Pace = clock })
			c := l.controlPlaneUp("k3s-dev")

			answer, err := c.admin(101).ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{
				Data: c.controlPlane(label), Mode: machine.ApplyConfigurationRequest_TRY, TryModeTimeout: durationpb.New(7 * time.Minute),
			})
			require.NoError(t, err)
			require.Equal(t, "Applied configuration without a reboot\nThe config is applied in 'try' mode and will be automatically reverted back in 7m0s",
				answer.GetMessages()[0].GetModeDetails())
			require.True(t, c.runsBy(101, "zone: north"))

			test.after(c)
			clock.release()
			l.eventually(func() bool { return c.runsBy(101, "zone: north") == test.stays }, "the configuration is not as it should be")
		})
	}
}
