package e2e_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/tests/labstack"
)

// TestE2EF10GuestAgentsHoldNobodyUp is the life of a cluster that gets QEMU's guest agent later: first it has none, then the nodes are
// upgraded to an image with one, which never answers on one of them, and at last a machine is created with it.
func TestE2EF10GuestAgentsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, pair)
	require.Equal(t, []string{"enabled=0", "enabled=0"}, r.agents(101, 102))
	require.Nil(t, r.statusOf("k3s-dev-worker-1").GuestAgent, "nobody is asked where there is none")

	r.fromBeforeTheLimit()
	r.switchedOnByHand()
	r.neverAnswers()
	r.bornWithAnAgent()

	r.mustRun(0, "destroy", "--lab", "--yes")
	ours := func(c proxmox.Call) bool { return strings.HasPrefix(c.Client, "go-proxmox/") }
	asked := slices.DeleteFunc(r.calls(), func(c proxmox.Call) bool { return !strings.Contains(c.Path, "/agent/") })
	require.NotEmpty(t, asked, "status asks")
	require.Empty(t, slices.DeleteFunc(asked, ours), "the provider never asks an agent")
}

// fromBeforeTheLimit: with the provider's former default in the state, nothing is rebooted for the limit alone.
func (r *rehearsal) fromBeforeTheLimit() {
	r.t.Helper()
	r.exchange(`"timeout":(\s*)"0s"`, `"timeout":$1"15m"`)
	r.mustRun(0, "preview", "--lab")
	r.exchange(`"timeout":(\s*)"15m"`, `"timeout":$1"0s"`)
}

// exchange replaces text in the state.
func (r *rehearsal) exchange(pattern, words string) {
	r.t.Helper()
	stack := r.plainEngine()
	exported, err := stack.Export(r.t.Context())
	require.NoError(r.t, err)
	changed := regexp.MustCompile(pattern).ReplaceAll(exported.Deployment, []byte(words))
	require.NotEqual(r.t, string(exported.Deployment), string(changed))
	exported.Deployment = changed
	require.NoError(r.t, stack.Import(r.t.Context(), exported))
}

// switchedOnByHand: no refresh waits for it, and the preview shows what up would change.
func (r *rehearsal) switchedOnByHand() {
	r.t.Helper()
	r.set(102, "agent", 1)
	require.Contains(r.t, r.inTime(2, "preview", "--lab"), "guest agent true → false")
	r.set(102, "agent", "enabled=0,fstrim_cloned_disks=0,type=virtio")
	r.inTime(0, "preview", "--lab")
}

// neverAnswers: the image of the inventory has the agent, the one that runs does not. The nodes are upgraded to it.
func (r *rehearsal) neverAnswers() {
	r.t.Helper()
	r.edit("cluster.yaml", "schematic: {extensions: []", "schematic: {extensions: [siderolabs/qemu-guest-agent]")
	output := r.inTime(2, "preview", "--lab")
	for _, node := range []string{"k3s-dev-control-1", "k3s-dev-worker-1"} {
		require.Regexp(r.t, `UPGRADE +`+node+` +Talos v1.12.4, schematic 376567988ad3 → ce4c980550dd \(drain, reboot, about 3 min\); guest agent false → true`, output)
	}
	r.mustRun(0, "lab", "fault", "set", "guest-agent-silent", "--vm", "102")
	began := time.Now()
	r.inTime(0, "up", "--lab", "--yes")
	require.Equal(r.t, []string{"enabled=1", "enabled=1"}, r.agents(101, 102))
	require.Len(r.t, labstack.Outages(r.talosLog(began)), 4, "what the preview said is what happened: each machine reboots for its agent, then for its image")
	r.inTime(0, "preview", "--lab", "--refresh")

	silent := r.statusOf("k3s-dev-worker-1").GuestAgent
	require.Equal(r.t, "QEMU guest agent is not running", silent.Silence)
	require.Contains(r.t, r.mustRun(0, "status", "--lab"), "k3s-dev-worker-1 does not answer (QEMU guest agent is not running)")

	r.edit("nodes.yaml", "    vmid: 102\n", "    vmid: 102\n    memoryMiB: 6144\n")
	r.inTime(0, "up", "--lab", "--yes")
}

// bornWithAnAgent: a new machine runs the new image. Its agent answers, is stopped before a change that reboots the machine, so
// that Proxmox VE presses the power button, and answers again afterwards.
func (r *rehearsal) bornWithAnAgent() {
	r.t.Helper()
	r.addNode("{name: k3s-dev-worker-2, role: worker, vmid: 103, address: 192.168.20.22}")
	r.inTime(0, "up", "--lab", "--yes")
	r.saysItself("k3s-dev-worker-2", "192.168.20.22")

	r.edit("nodes.yaml", "vmid: 103, address: 192.168.20.22}", "vmid: 103, address: 192.168.20.22, memoryMiB: 6144}")
	began := time.Now()
	r.inTime(0, "up", "--lab", "--yes")
	stopped := slices.IndexFunc(r.talosLog(began), func(l labstack.NodeLine) bool {
		return l.VMID == 103 && path.Base(l.Method) == "ServiceStop"
	})
	require.GreaterOrEqual(r.t, stopped, 0, "by its agent Talos would not go down without a Kubernetes API")
	r.saysItself("k3s-dev-worker-2", "192.168.20.22")
	r.inTime(0, "preview", "--lab")
}

// saysItself checks the agent's data on a node.
func (r *rehearsal) saysItself(name, address string) {
	r.t.Helper()
	machine := r.statusOf(name)
	require.NotNil(r.t, machine.GuestAgent)
	require.Empty(r.t, machine.GuestAgent.Silence)
	require.NotEmpty(r.t, machine.GuestAgent.Kernel)
	require.Equal(r.t, name, machine.GuestAgent.HostName)
	require.Regexp(r.t, name+`: \S+, `+machine.Address.String()+"\n", r.mustRun(0, "status", "--lab"))
}

// inTime is mustRun, in less time than the provider's own limit for one silent agent.
func (r *rehearsal) inTime(code int, args ...string) string {
	r.t.Helper()
	began := time.Now()
	output := r.mustRun(code, args...)
	require.Less(r.t, time.Since(began), 10*time.Minute, output)
	return output
}

// agents returns the first words of the setting of machines.
func (r *rehearsal) agents(vmids ...int) []string {
	r.t.Helper()
	var settings []string
	for _, vmid := range vmids {
		machine, err := r.host().VirtualMachine(r.t.Context(), vmid)
		require.NoError(r.t, err)
		setting, _, _ := strings.Cut(machine.VirtualMachineConfig.Agent, ",")
		settings = append(settings, setting)
	}
	return settings
}
