package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
)

func TestLabEnvSurvivesAShell(t *testing.T) {
	root := project(t)
	stoppedLab(t, root)
	dir := filepath.Join(root, ".lab/k3s-dev")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	result := em(t.Context(), "lab", "env", "--stack", "k3s-dev")
	require.Equal(t, exitOK, result.code, result.err)

	shell := exec.Command("sh", "-c", `eval "$SCRIPT"; printf '%s\n' "$PULUMI_HOME" "$PULUMI_BACKEND_URL" "$PULUMI_CONFIG_PASSPHRASE_FILE" "$PWD" "${PULUMI_CONFIG_PASSPHRASE-unset}"`)
	shell.Env = append(os.Environ(), "SCRIPT="+result.out, "PULUMI_CONFIG_PASSPHRASE=of the real stack")
	printed, err := shell.Output()
	require.NoError(t, err)
	require.Equal(t, []string{dir + "/pulumi-home", "file://" + dir + "/state", dir + "/passphrase", dir, "unset", ""},
		strings.Split(string(printed), "\n"))
}

func TestLabStatusOfAStoppedLab(t *testing.T) {
	root := project(t)
	stoppedLab(t, root)
	require.Equal(t, outcome{out: `lab         stopped
host        vmhost
proxmox     https://127.0.0.1:18006
factory     http://127.0.0.1:18007
nodes       127.20.20.0/24
time scale  0.1
log         ` + root + `/.lab/k3s-dev/lab.log
`}, em(t.Context(), "lab", "status", "--stack", "k3s-dev"))
}

func TestLabRuns(t *testing.T) {
	root := project(t)
	dir := filepath.Join(root, ".lab/k3s-dev")
	ctx, end := context.WithCancel(t.Context())
	served := make(chan outcome, 1)
	go func() { served <- em(ctx, "lab", "serve", "--stack", "k3s-dev", "--time-scale", "0") }()
	require.Eventually(t, func() bool {
		d, err := lab.ReadDescription(dir)
		pid, runErr := lab.Running(dir)
		return err == nil && d.TimeScale == 0 && runErr == nil && pid == os.Getpid()
	}, 20*time.Second, 10*time.Millisecond)
	d, err := lab.ReadDescription(dir)
	require.NoError(t, err)

	status := em(t.Context(), "lab", "status", "--stack", "k3s-dev")
	require.Contains(t, status.out, fmt.Sprintf("lab         running, process %d\n", os.Getpid()))
	again := em(t.Context(), "lab", "start", "--stack", "k3s-dev")
	require.Equal(t, outcome{out: fmt.Sprintf(" lab        host vmhost on %s, 1 nodes on %s, time scale 0\n", d.Proxmox, d.Network)}, again)
	require.Equal(t, refusal(fmt.Sprintf("the lab runs already (process %d): stop it before you give it another time scale", os.Getpid())),
		em(t.Context(), "lab", "start", "--stack", "k3s-dev", "--time-scale", "1"))
	require.Equal(t, outcome{err: "a lab runs in this folder already: see it with `em-infra lab status`\n", code: exitFailed},
		em(t.Context(), "lab", "serve", "--stack", "k3s-dev"))

	end()
	require.Equal(t, outcome{}, <-served)
}

func TestLabServeRefusesAWrongTimeScale(t *testing.T) {
	project(t)
	require.Equal(t, outcome{
		err: "time scale must be a number of 0 or more, not -1: choose 0 for no delay, 1 for the speed of a small server\n", code: exitFailed,
	}, em(t.Context(), "lab", "serve", "--stack", "k3s-dev", "--time-scale", "-1"))
}

func TestShellQuote(t *testing.T) {
	t.Parallel()
	for text, quoted := range map[string]string{"": `''`, "a b": `'a b'`, "it's": `'it'\''s'`, "$(x)`y`\\": "'$(x)`y`\\'"} {
		require.Equal(t, quoted, shellQuote(text))
		var printed bytes.Buffer
		shell := exec.Command("sh", "-c", "printf %s "+shellQuote(text))
		shell.Stdout = &printed
		require.NoError(t, shell.Run())
		require.Equal(t, text, printed.String())
	}
}
