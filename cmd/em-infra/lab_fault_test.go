package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/control"
	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/terminal/ptytest"
)

// servedLab runs a lab of k3s-dev in this process until the test ends, and returns when its console answers.
func servedLab(t *testing.T, root string) {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	served := make(chan outcome, 1)
	go func() { served <- em(ctx, "lab", "serve", "--stack", "k3s-dev", "--time-scale", "0") }()
	t.Cleanup(func() {
		end()
		require.Equal(t, outcome{}, <-served)
	})
	dir := filepath.Join(root, ".lab/k3s-dev")
	require.Eventually(t, func() bool {
		_, err := control.NewClient(dir).Faults(t.Context())
		pid, runErr := lab.Running(dir)
		return err == nil && runErr == nil && pid == os.Getpid()
	}, time.Minute, 10*time.Millisecond)
}

func TestLabFaults(t *testing.T) {
	root := project(t)
	servedLab(t, root)
	command := func(args ...string) outcome {
		return em(t.Context(), append(append([]string{"lab"}, args...), "--stack", "k3s-dev")...)
	}

	require.Equal(t, outcome{out: "clone-fails is set: VM 101, 2 times · next: em-infra lab fault clear clone-fails --stack k3s-dev\n"},
		command("fault", "set", "clone-fails", "--vm", "cp-1", "--times", "2"))
	require.Equal(t, outcome{out: "forbidden is set: host vmhost, /version, from occasion 3, 50 % of the time · next: em-infra lab fault clear forbidden --stack k3s-dev\n"},
		command("fault", "set", "forbidden", "--node", "vmhost", "--endpoint", "/version", "--nth", "3", "--probability", "0.5"))
	require.Equal(t, outcome{out: "apply-hangs is set: VM 104, always · next: em-infra lab fault clear apply-hangs --stack k3s-dev\n"},
		command("fault", "set", "apply-hangs", "--vm", "104"))

	require.Equal(t, outcome{out: "vmhost is set up\n"}, command("set-up", "vmhost", "--iommu", "off"))
	require.Equal(t, outcome{code: exitRefused, err: "lab host: there is no \"vmhots\": choose one of vmhost\n"}, command("set-up", "vmhots", "--iommu", "off"))

	listed := command("fault", "list")
	require.Equal(t, exitOK, listed.code)
	_, set, _ := strings.Cut(listed.out, "\n\n")
	require.Equal(t, `SET          WHERE                  WHEN                          MET  OCCURRED
clone-fails  VM 101                 2 times                       0    0
forbidden    host vmhost, /version  from occasion 3, 50 % of the  0    0
                                    time
apply-hangs  VM 104                 always                        0    0
`, set)

	require.Equal(t, outcome{out: "1 fault taken back\n"}, command("fault", "clear", "forbidden"))
	require.Equal(t, outcome{out: "2 faults taken back\n"}, command("fault", "clear"))
	for _, test := range []struct {
		args     []string
		sentence string
	}{
		{[]string{"fault", "set", "clone-fail"}, `fault: there is no "clone-fail": did you mean clone-fails?`},
		{[]string{"fault", "set", "forbidden", "--node", "vmhots"}, `fault: there is no host "vmhots": did you mean vmhost?`},
		{[]string{"fault", "set", "forbidden", "--vm", "cp-2"}, `the inventory has no node "cp-2": did you mean cp-1?`},
		{[]string{"fault", "set", "forbidden", "--vm", "elsewhere"}, `the inventory has no node "elsewhere": choose one of its nodes, or a VMID`},
		{[]string{"fault", "clear", "forbiden"}, `fault: there is no "forbiden": did you mean forbidden?`},
		{[]string{"fault", "set"}, "name one fault, got 0: see `em-infra lab fault set --help`"},
		{[]string{"unlock", "101"}, "Configuration file 'nodes/vmhost/qemu-server/101.conf' does not exist"},
	} {
		require.Equal(t, refusal(test.sentence), command(test.args...), test.args)
	}
}

func TestLabFaultsWithoutALab(t *testing.T) {
	root := project(t)
	stoppedLab(t, root)
	listed := em(t.Context(), "lab", "fault", "list", "--stack", "k3s-dev")
	require.Equal(t, exitOK, listed.code)
	require.Contains(t, listed.out, "\nbootstrap-answer-lost ")
	require.Contains(t, listed.out, "bootstrap happens, but")
	ptytest.RequireFits(t, listed.out, terminal.Columns)
	require.True(t, strings.HasSuffix(listed.out, "\nnone is set · next: em-infra lab fault set NAME --stack k3s-dev\n"), listed.out)

	var list struct {
		Kinds []fault.Kind  `json:"kinds"`
		Set   []fault.State `json:"set"`
	}
	asJSON := em(t.Context(), "lab", "fault", "list", "--stack", "k3s-dev", "--output", "json")
	require.NoError(t, json.Unmarshal([]byte(asJSON.out), &list))
	kinds := lab.FaultKinds()
	for i := range kinds {
		kinds[i] = kinds[i].ForUsers()
	}
	require.Equal(t, kinds, list.Kinds)
	require.NotNil(t, list.Set)
	require.Equal(t, refusal("the lab of k3s-dev is not running: start it with `em-infra lab start --stack k3s-dev`"),
		em(t.Context(), "lab", "fault", "set", "forbidden", "--stack", "k3s-dev"))
}
