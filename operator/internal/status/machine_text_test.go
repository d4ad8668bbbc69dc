package status_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// TestPrintWhatToDoAboutMachines checks that each machine that is not as it should be has a line that says what to do, with the
// commands of the place where it is read.
func TestPrintWhatToDoAboutMachines(t *testing.T) {
	t.Parallel()
	answers := func(m *status.Machine, isSilent bool, text string) {
		m.Node, m.Silent = &nodeops.Observation{Unmet: []string{text}}, isSilent
	}
	for _, test := range []struct {
		name   string
		change func(*status.Machine)
		want   string
	}{
		{"off", func(m *status.Machine) { m.VM = "stopped"; answers(m, true, "its Talos API does not answer") }, "VM            k3s-dev-gpu-1: it is stopped: `em-infra up --stack k3s-dev` starts it\n"},
		{"absent", func(m *status.Machine) { m.VM = "absent"; answers(m, true, "its Talos API does not answer") }, "VM            k3s-dev-gpu-1: there is none: `em-infra preview --stack k3s-dev` shows what `em-infra up --stack k3s-dev` makes of it\n"},
		{"not made yet", func(m *status.Machine) { *m = status.Machine{Name: m.Name, VM: "absent"} }, "VM            k3s-dev-gpu-1: it is not made yet: `em-infra up --stack k3s-dev` makes it\n"},
		{"silent", func(m *status.Machine) { answers(m, true, "its Talos API does not answer") }, "VM            k3s-dev-gpu-1: it runs, and its Talos does not answer: look at its console; if it hangs, `em-infra lab reset 103 --stack k3s-dev`\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := wellReport().At(remedy.Place{Stack: "--stack k3s-dev", Lab: "--stack k3s-dev"})
			test.change(&r.Machines[1])
			var text strings.Builder
			require.NoError(t, r.WriteText(&text))
			require.Contains(t, text.String(), test.want)
			require.NotEmpty(t, r.Lacks())
		})
	}
}

// TestPrintWhatToDoAboutHosts: each host that is not online has a line that says what to do.
func TestPrintWhatToDoAboutHosts(t *testing.T) {
	t.Parallel()
	r := status.Sources{}.OfState(today)
	for name, is := range map[string]string{"pve1": "online", "pve2": "offline", "pve3": "unknown", "pve4": "absent"} {
		r.Hosts = append(r.Hosts, status.Host{Name: name, Status: is})
	}
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	require.Len(t, r.Lacks(), 3)
	require.NotContains(t, text.String(), "host          pve1")
	for _, line := range []string{
		"pve2: it is offline: start it, and see that it reaches the other hosts",
		"pve3: it is unknown, since it sends no status: start its service pvestatd",
		"pve4: Proxmox VE has no host of this name: correct hosts.yaml, or join it to the cluster",
	} {
		require.Contains(t, text.String(), "host          "+line+"\n")
	}
}

// TestMachinesThatDoNotRun: each status has its own remedy. An up starts a machine that is off, and none that is halted or whose host is off.
func TestMachinesThatDoNotRun(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		vm, remedy         string
		isAway, isHostAway bool
	}{
		{vm: "stopped", remedy: "it is stopped: `em-infra up` starts it", isAway: true},
		{vm: "unknown", remedy: "its host vmhost is off, or sends no status: start the host, or its service pvestatd", isHostAway: true},
		{vm: "io-error", remedy: "it is halted, since a disk of it could not be written: make room on its storage, or bring that back, then `qm resume 103` on vmhost"},
		{vm: "paused", remedy: "it is paused: if no backup or snapshot of it runs, `qm resume 103` on vmhost"},
		{vm: "prelaunch", remedy: "it is prelaunch: look at its tasks and its console in Proxmox VE on vmhost"},
	} {
		t.Run(test.vm, func(t *testing.T) {
			t.Parallel()
			r := wellReport()
			r.Machines[1].VM = test.vm
			var text strings.Builder
			require.NoError(t, r.WriteText(&text))
			require.Contains(t, text.String(), "VM            k3s-dev-gpu-1: "+test.remedy+"\n")
			require.Equal(t, []string{"k3s-dev-gpu-1: its VM is " + test.vm}, r.Lacks())
			require.Equal(t, test.isHostAway, r.IsHostSilent())
			if test.isAway {
				require.Equal(t, []string{"k3s-dev-gpu-1"}, r.Away())
				require.Empty(t, r.Remedies(0), "what is away has its own sentence")
				return
			}
			require.Empty(t, r.Away())
			require.Equal(t, []string{"k3s-dev-gpu-1: " + test.remedy}, r.Remedies(0))
		})
	}
}

// TestPrintWhereAMachineIs: one that was moved is shown and reset where it is, and another guest with its VMID not at all.
func TestPrintWhereAMachineIs(t *testing.T) {
	t.Parallel()
	r := wellReport()
	r.Machines[0].On, r.Machines[0].Silent, r.Machines[0].Node = "vmhost2", true, &nodeops.Observation{Unmet: []string{nodeops.ErrSilent.Error()}}
	r.Machines[1].VM, r.Machines[1].Taken = "absent", "VM 103 (web) on vmhost"
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	require.Regexp(t, `101 running on +silent +Ready\n +vmhost2\n`, text.String())
	require.Contains(t, text.String(), "VM            k3s-dev-control-1: it runs, and its Talos does not answer: look at its console; if it hangs, `qm reset 101` on vmhost2\n")
	require.Contains(t, text.String(), "VM            k3s-dev-gpu-1: VMID 103 is taken by VM 103 (web) on vmhost: `em-infra preflight` says whose it is and what to do\n")
	require.NotContains(t, text.String(), "qm reset 103")
	require.Empty(t, r.Away(), "no up makes it")
	require.True(t, r.IsTaken())
	require.Equal(t, []string{"k3s-dev-gpu-1: VMID 103 is taken by VM 103 (web) on vmhost: `em-infra preflight` says whose it is and what to do"}, r.Remedies(0))
	require.Contains(t, r.Lacks(), "k3s-dev-gpu-1: its VMID is taken by VM 103 (web) on vmhost")
}

// TestAMachineWhoseTalosAnswersIsNotReset: its answer is all that is printed, and it says what to do.
func TestAMachineWhoseTalosAnswersIsNotReset(t *testing.T) {
	t.Parallel()
	for answer, word := range map[string]string{
		nodeops.ErrUntimely.Error(): "error",
		nodeops.ErrForeign.Error():  "foreign",
		"its Talos API: rpc error":  "error",
		"the certificate of the talosconfig has ended: `em-infra up` renews it": "error",
	} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			r := wellReport()
			r.Machines[1].Node = &nodeops.Observation{Unmet: []string{answer}}
			var text strings.Builder
			require.NoError(t, r.WriteText(&text))
			require.Contains(t, text.String(), "103 running  "+word)
			require.Contains(t, text.String(), "Talos         k3s-dev-gpu-1: "+answer+"\n")
			require.NotContains(t, text.String(), "qm reset")
		})
	}
}
