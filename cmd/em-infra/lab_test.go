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
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/workspace"
)

func TestLabEnvSurvivesAShell(t *testing.T) {
	root := project(t)
	stoppedLab(t, root)
	dir := filepath.Join(root, ".lab/k3s-dev")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	w, err := workspace.Rehearsal(root, "k3s-dev", "")
	require.NoError(t, err)
	var script bytes.Buffer
	tools := &toolchain.Installed{Tools: []toolchain.Tool{{Name: "pulumi", Kind: toolchain.CLI, Path: root + "/cache/bin/pulumi"}}}
	require.NoError(t, printLabEnv(&script, tools, w, ""))

	shell := exec.Command("sh", "-c", `eval "$SCRIPT"; printf '%s\n' "${PATH%%:*}" "$PULUMI_HOME" "$PULUMI_BACKEND_URL" "$PULUMI_CONFIG_PASSPHRASE_FILE" "$PWD" "${PULUMI_CONFIG_PASSPHRASE-unset}"`)
	shell.Env = append(os.Environ(), "SCRIPT="+script.String(), "PULUMI_CONFIG_PASSPHRASE=of the real stack")
	printed, err := shell.Output()
	require.NoError(t, err)
	require.Equal(t, []string{root + "/cache/bin", dir + "/pulumi-home", "file://" + dir + "/state", dir + "/passphrase", dir, "unset", ""},
		strings.Split(string(printed), "\n"))
}

func TestLabStatusOfAStoppedLab(t *testing.T) {
	root := project(t)
	stoppedLab(t, root)
	require.Equal(t, outcome{out: `lab                 stopped
host                vmhost, Proxmox VE 8.4
proxmox             https://127.0.0.1:18006
factory             http://127.0.0.1:18007
nodes               127.20.20.0/24
time scale          0.1
seed                k3s-dev
kubernetes          none
log                 ` + root + `/.lab/k3s-dev/lab.log
calls of the host   ` + root + `/.lab/k3s-dev/calls-proxmox.jsonl
calls of the nodes  ` + root + `/.lab/k3s-dev/calls-talos.jsonl
`}, em(t.Context(), "lab", "status", "--stack", "k3s-dev"))
}

func TestLabRuns(t *testing.T) {
	root := project(t)
	dir := filepath.Join(root, ".lab/k3s-dev")
	ctx, end := context.WithCancel(t.Context())
	served := make(chan outcome, 1)
	go func() { served <- em(ctx, "lab", "serve", "--stack", "k3s-dev", "--time-scale", "0", "--pve", "9.1") }()
	require.Eventually(t, func() bool {
		d, err := lab.ReadDescription(dir)
		pid, runErr := lab.Running(dir)
		return err == nil && d.TimeScale == 0 && runErr == nil && pid == os.Getpid()
	}, time.Minute, 10*time.Millisecond)
	d, err := lab.ReadDescription(dir)
	require.NoError(t, err)

	status := em(t.Context(), "lab", "status", "--stack", "k3s-dev")
	require.Contains(t, status.out, fmt.Sprintf("lab                 running, process %d\n", os.Getpid()))
	again := em(t.Context(), "lab", "start", "--stack", "k3s-dev")
	require.Equal(t, outcome{out: fmt.Sprintf(" lab        host vmhost (PVE 9.1) on %s, 1 nodes on %s, time scale 0\n", d.Proxmox, d.Network)}, again)
	require.Equal(t, again, em(t.Context(), "lab", "start", "--stack", "k3s-dev", "--time-scale", "0.0", "--pve", "9.1", "--seed", "k3s-dev"),
		"what it has already is no choice")
	for _, other := range [][]string{{"--time-scale", "1"}, {"--seed", "another"}, {"--time-scale", "0", "--seed", "another"}} {
		require.Equal(t, refusal(fmt.Sprintf("the lab runs already (process %d): stop it before you give it another time scale or seed", os.Getpid())),
			em(t.Context(), append([]string{"lab", "start", "--stack", "k3s-dev"}, other...)...))
	}
	require.Equal(t, outcome{err: "a lab runs in this folder already: see it with `em-infra lab status`\n", code: exitFailed},
		em(t.Context(), "lab", "serve", "--stack", "k3s-dev"))

	end()
	require.Equal(t, outcome{}, <-served)
}

func TestLabServeRefusesAWrongTimeScale(t *testing.T) {
	project(t)
	const sentence = "--time-scale: time scale must be a number of 0 or more, not %s: choose 0 for no delay, 1 for the speed of a small server"
	for _, wrong := range []string{"-1", "fast"} {
		require.Equal(t, refusal(fmt.Sprintf(sentence, wrong)), em(t.Context(), "lab", "serve", "--stack", "k3s-dev", "--time-scale", wrong))
	}
}

func TestChoicesOfALabAreRefused(t *testing.T) {
	root := project(t)
	stoppedLab(t, root)
	for _, test := range []struct {
		args     []string
		sentence string
	}{
		{[]string{"lab", "start", "--pve", "7.4"}, "--pve: proxmox ve 7.4 is not emulated: choose one of 8.4, 9.1"},
		{[]string{"lab", "start", "--pve", "9.1"}, "the lab of k3s-dev was made as Proxmox VE 8.4 and stays that: leave --pve out, or stop the lab and delete its folder to begin anew with 9.1"},
		{[]string{"up", "--lab", "--yes", "--pve", "9.1"}, "the lab of k3s-dev was made as Proxmox VE 8.4 and stays that: leave --pve out, or stop the lab and delete its folder to begin anew with 9.1"},
		{[]string{"up", "--yes", "--seed", "x"}, "--time-scale, --pve and --seed are those of the emulated host: add --lab to rehearse, or leave them out"},
	} {
		require.Equal(t, refusal(test.sentence), em(t.Context(), append(test.args, "--stack", "k3s-dev")...), test.args)
	}
}
