package machineconfig_test

import (
	"net/netip"
	"regexp"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/machineconfig"
)

// role is a role of machines, with the patches that only this role has.
type role struct {
	name         string
	controlPlane bool
	patches      func(t *testing.T) []string
}

var roles = []role{
	{name: "control-plane", controlPlane: true, patches: func(t *testing.T) []string {
		return []string{registration(t, true, map[string]string{"example.org/rack": "a1"}, map[string]string{"example.org/alone": ":NoSchedule"})}
	}},
	{name: "worker", patches: func(t *testing.T) []string {
		return []string{registration(t, false, map[string]string{"example.org/disk": "fast"}, map[string]string{"example.org/batch": "yes:NoSchedule", "example.org/alone": ":NoExecute"})}
	}},
	{name: "gpu-worker", patches: func(t *testing.T) []string {
		nvidia, err := machineconfig.NVIDIA()
		require.NoError(t, err)
		return []string{nvidia, registration(t, false, machineconfig.NVIDIALabels(), machineconfig.NVIDIATaints())}
	}},
}

func registration(t *testing.T, controlPlane bool, labels, taints map[string]string) string {
	t.Helper()
	patch, err := machineconfig.Registration(controlPlane, labels, taints)
	require.NoError(t, err)
	return patch
}

// contracts are the first and the last contract that a cluster can be created with, and those before and after each change that concerns us: user
// volumes came with v1.10, and the hostname moved to a document of its own with v1.12 (F29).
var contracts = []string{"v1.0", "v1.9", "v1.10", "v1.11", "v1.12"}

// TestConfigurationsAreGoldenAndAcceptedByTalos keeps the whole configuration of each role under each contract, without
// its keys, and has Talos itself judge it for the platform nocloud.
func TestConfigurationsAreGoldenAndAcceptedByTalos(t *testing.T) {
	t.Parallel()

	for _, contract := range contracts {
		for _, role := range roles {
			t.Run(role.name+" "+contract, func(t *testing.T) {
				t.Parallel()

				patches, err := machineconfig.Patches(cluster(contract, netip.MustParseAddr("192.168.20.10")), node(role.name+"-1", role.controlPlane))
				require.NoError(t, err)
				install, err := machineconfig.InstallImage("factory.talos.dev/nocloud-installer/376567988ad3:v1.12.4")
				require.NoError(t, err)
				patches = append(append(patches, install), role.patches(t)...)

				merged := merge(t, contract, role.controlPlane, patches)
				warnings, err := merged.Validate(nocloud{})
				require.NoError(t, err)
				require.Empty(t, warnings)
				golden.Equal(t, "testdata/configuration/"+role.name+"-"+contract+".yaml", withoutKeys(t, merged))
			})
		}
	}
}

// made matches the values that are generated for every cluster. Talos itself redacts those that it considers secret.
var made = regexp.MustCompile(`(?m)^(\s*(?:crt|id): ).*$`)

func withoutKeys(t *testing.T, configuration config.Provider) string {
	t.Helper()
	text, err := configuration.RedactSecrets("[secret]").EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
	require.NoError(t, err)
	return made.ReplaceAllString(string(text), "${1}[made]")
}

func TestAWorkerBringsItsTaintsAlongAndAControlPlaneIsGivenThem(t *testing.T) {
	t.Parallel()

	taints := map[string]string{"b": "x:NoExecute", "a": ":NoSchedule"}
	require.Equal(t, `machine:
  kubelet:
    extraConfig:
      registerWithTaints:
        - effect: NoSchedule
          key: a
        - effect: NoExecute
          key: b
          value: x
`, registration(t, false, nil, taints))
	require.Equal(t, `machine:
  nodeTaints:
    a: :NoSchedule
    b: x:NoExecute
`, registration(t, true, nil, taints))
	require.Empty(t, registration(t, false, nil, nil))
}

// TestALabelMayBeEmpty checks a label without a value, as the labels of Kubernetes' own roles are.
func TestALabelMayBeEmpty(t *testing.T) {
	t.Parallel()

	require.Equal(t, `machine:
  nodeLabels:
    example.org/shelf: upper
    node-role.kubernetes.io/etcd: ""
`, registration(t, true, map[string]string{"node-role.kubernetes.io/etcd": "", "example.org/shelf": "upper"}, nil))
}

func TestATaintThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()

	_, err := machineconfig.Registration(false, nil, map[string]string{"gpu": "NoSchedule"})
	require.EqualError(t, err, `taint gpu: "NoSchedule" is not value:effect: write one like present:NoSchedule`)
}

func TestF38TheDriverIsLoadedAndTheToolkitMayLoadItsPrograms(t *testing.T) {
	t.Parallel()

	nvidia, err := machineconfig.NVIDIA()
	require.NoError(t, err)
	require.Equal(t, `machine:
  sysctls:
    net.core.bpf_jit_harden: "1"
  kernel:
    modules:
      - name: nvidia
      - name: nvidia_uvm
      - name: nvidia_drm
      - name: nvidia_modeset
`, nvidia)
}
