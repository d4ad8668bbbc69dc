package preflight_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/factory"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	lab "github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/loopbacktest"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// journal is the emulated host's log of calls.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

// verbs returns the numbers of calls so far by verb.
func (j *journal) verbs(t *testing.T) map[string]int {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	verbs := map[string]int{}
	for line := range strings.Lines(j.text.String()) {
		var call struct {
			Method string `json:"method"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &call), line)
		verbs[call.Method]++
	}
	return verbs
}

// emulatedConfig returns the configuration of the inventory's two hosts.
func emulatedConfig(release schema.Release) proxmox.Config {
	storages := []proxmox.Storage{
		{Name: "local", Type: lab.Dir, Content: []string{lab.ISO}, TotalBytes: 100 * gib, Path: "/var/lib/vz"},
		{Name: "tank", Type: lab.ZFSPool, Content: []string{lab.Images}, TotalBytes: 1000 * gib},
	}
	bridges := []proxmox.Bridge{{Name: "vmbr0", Ports: []string{"eno1"}, VLANAware: true}}
	return proxmox.Config{
		Release: release,
		Hosts: []proxmox.Host{
			{Name: "pve1", Cores: 12, CPUModel: "AMD EPYC", MemoryMiB: 64 << 10, Storages: storages, Bridges: bridges, PCI: []proxmox.PCIDevice{{
				Address: "0000:01:00.0", Class: "0x030000", Vendor: "0x10de", Device: "0x2204", SubsystemVendor: "0x1462",
				SubsystemDevice: "0x3881", VendorName: "NVIDIA Corporation", DeviceName: "GA102 [GeForce RTX 3090]", IOMMUGroup: 14,
			}}},
			{Name: "pve2", Cores: 12, CPUModel: "AMD EPYC", MemoryMiB: 64 << 10, Storages: storages, Bridges: bridges},
		},
		Tokens: []proxmox.Token{{
			ID: "ops@pve!k8s", Secret: rand.Text(), Role: proxmox.OperatorRole, Privileges: proxmox.OperatorPrivileges(release),
		}},
	}
}

// emulate starts the hosts and an Image Factory for an inventory that they can run.
func emulate(t *testing.T, config proxmox.Config) (preflight.Subject, *journal) {
	t.Helper()
	calls := &journal{}
	config.Log = calls
	server, err := proxmox.NewServer(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	front := httptest.NewTLSServer(server)
	t.Cleanup(front.Close)
	images := httptest.NewServer(factory.New())
	t.Cleanup(images.Close)
	location, err := url.Parse(images.URL)
	require.NoError(t, err)
	return preflight.Subject{
		Inventory: inventoryOf(t, clusterYAML, nodesYAML), Factory: location,
		Host: pve.Connection{Endpoint: front.URL, Token: "ops@pve!k8s=" + config.Tokens[0].Secret, Insecure: true},
	}, calls
}

func TestTheEmulatedHostsCanBearTheInventory(t *testing.T) {
	t.Parallel()
	for _, release := range schema.Releases() {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()
			subject, calls := emulate(t, emulatedConfig(release))
			report, err := preflight.Run(t.Context(), subject)
			require.NoError(t, err)
			require.Empty(t, report.Unsound())
			require.Len(t, report, 16, "every rule has found something")
			for verb, count := range calls.verbs(t) {
				require.Equal(t, http.MethodGet, verb, "%d calls that are no reading", count)
			}
		})
	}
}

func TestWhatAnEmulatedHostLacks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		alter func(*proxmox.Config)
		want  []string
	}{
		{"a role of the release before (F12)", func(c *proxmox.Config) {
			c.Tokens[0].Privileges = without(proxmox.OperatorPrivileges(schema.Release84), "VM.Monitor")
		}, []string{"token ops@pve!k8s lacks VM.GuestAgent.Audit on /vms/101, /vms/102, /vms/103"}},
		{"no use of bridges (F13)", func(c *proxmox.Config) {
			c.Tokens[0].Privileges = without(c.Tokens[0].Privileges, "SDN.Use")
		}, []string{
			"token ops@pve!k8s lacks SDN.Use on /sdn/zones/localnetwork/vmbr0, /sdn/zones/localnetwork/vmbr0/20",
			"bridge vmbr0 is not on pve1, which has none that the token may use",
			"bridge vmbr0 is not on pve2, which has none that the token may use",
		}},
		{
			"an IOMMU", func(c *proxmox.Config) { c.Hosts[0].PCI[0].IOMMUGroup = -1 },
			[]string{"PCI 0000:01:00.0 on pve1 is in no IOMMU group: the IOMMU is off"},
		},
		{
			"a bridge", func(c *proxmox.Config) {
				c.Hosts[1].Bridges = []proxmox.Bridge{{Name: "vmbr1", Ports: []string{"eno1"}}}
			},
			[]string{"bridge vmbr0 is not on pve2, which has vmbr1"},
		},
		{
			"a storage for disks", func(c *proxmox.Config) { c.Hosts[1].Storages = c.Hosts[1].Storages[:1] },
			[]string{"storage tank is not on pve2, which has local"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config := emulatedConfig(schema.Release91)
			test.alter(&config)
			subject, _ := emulate(t, config)
			report, err := preflight.Run(t.Context(), subject)
			require.NoError(t, err)
			var sentences []string
			for _, check := range report.Unsound() {
				sentences = append(sentences, check.Sentence)
			}
			require.Equal(t, test.want, sentences)
		})
	}
}

func without(words []string, word string) []string {
	var rest []string
	for _, w := range words {
		if w != word {
			rest = append(rest, w)
		}
	}
	return rest
}

func TestAClockThatIsADayBehind(t *testing.T) {
	t.Parallel()
	config := emulatedConfig(schema.Release91)
	config.Now = func() time.Time { return time.Now().AddDate(0, 0, -1) }
	subject, _ := emulate(t, config)
	report, err := preflight.Run(t.Context(), subject)
	require.NoError(t, err)
	require.Equal(t, 2, report.Count(preflight.Fail))
	require.Regexp(t, `^the clock of pve1 is 2[345]h\d+m\d+s behind this machine's: certificates would not be valid$`, report.Unsound()[0].Sentence)
}

func TestAFactoryThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	subject, _ := emulate(t, emulatedConfig(schema.Release91))
	closed := "http://" + loopbacktest.Refused(t)
	location, err := url.Parse(closed)
	require.NoError(t, err)
	subject.Factory = location
	report, err := preflight.Run(t.Context(), subject)
	require.NoError(t, err)
	unsound := report.Unsound()
	require.Len(t, unsound, 3)
	require.Contains(t, unsound[0].Sentence, "the Image Factory at "+closed+" does not answer (")
	require.Equal(t, "pve1 does not reach the Image Factory at "+closed+" (connection refused)", unsound[1].Sentence)
	require.Equal(t, "pve2 does not reach the Image Factory at "+closed+" (connection refused)", unsound[2].Sentence)
}

func TestTheExtensionsOfGPUWorkersAreNeeded(t *testing.T) {
	t.Parallel()
	subject, _ := emulate(t, emulatedConfig(schema.Release91))
	needed := func(nodes string) []string {
		subject.Inventory = inventoryOf(t, clusterYAML, nodes)
		return preflight.Gather(t.Context(), subject).Factory.Needed
	}
	require.Equal(t, []string{
		"siderolabs/qemu-guest-agent", "siderolabs/nvidia-container-toolkit-lts", "siderolabs/nvidia-open-gpu-kernel-modules-lts",
	}, needed(nodesYAML))
	other := `  - {name: gpu2, role: gpu-worker, vmid: 104, address: 192.168.20.32, driver: {kernelModuleType: proprietary}, gpus: [{mapping: p40}]}
`
	require.Equal(t, []string{
		"siderolabs/qemu-guest-agent", "siderolabs/nvidia-container-toolkit-lts", "siderolabs/nvidia-open-gpu-kernel-modules-lts", "siderolabs/nonfree-kmod-nvidia-lts",
	}, needed(nodesYAML+other), "what each of them has")
	without, _, _ := strings.Cut(nodesYAML, "  - name: gpu1")
	require.Equal(t, []string{"siderolabs/qemu-guest-agent"}, needed(without))
}

func TestAHostThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	subject, _ := emulate(t, emulatedConfig(schema.Release84))
	subject.Host.Token = "ops@pve!k8s=" + rand.Text()
	report, err := preflight.Run(t.Context(), subject)
	require.NoError(t, err)
	require.Equal(t, preflight.Report{{
		Name: "version", Result: preflight.Fail, Sentence: "proxmox VE at " + subject.Host.Endpoint + " refuses the token ops@pve!k8s",
		Remedy: "make it with `pveum user token add`, or set its secret again with `pulumi config set --stack STACK --secret em-infra:proxmoxToken`",
	}}, report)
}
