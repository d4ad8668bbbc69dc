package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator"
)

var someChecks = operator.Checks{
	{Name: "version", Result: operator.CheckOK, Sentence: "Proxmox VE 8.4.1 answers at https://vmhost:8006 (12ms)"},
	{Name: "storage", Result: operator.CheckFailure, Sentence: "storage tank on vmhost has 41 GiB free, the inventory asks for 448 GiB", Remedy: "free space, or set diskStorage or diskGiB"},
	{Name: "address", Result: operator.CheckWarning, Sentence: "the addresses of VM 205 are not known", Remedy: "give the token VM.Audit on /vms; `em-infra role --stack k3s-dev --lab` prints how"},
}

func TestPreflightText(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	printPreflight(&out, someChecks)
	require.Equal(t, ` ok    Proxmox VE 8.4.1 answers at https://vmhost:8006 (12ms)
 FAIL  storage tank on vmhost has 41 GiB free, the inventory asks for 448 GiB
       → free space, or set diskStorage or diskGiB
 warn  the addresses of VM 205 are not known
       → give the token VM.Audit on /vms; `+"`em-infra role --stack k3s-dev --lab`"+` prints how
3 checks: 1 ok, 1 warning, 1 failure. Nothing was touched
`, out.String())
}

func TestPreflightJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, preflightJSON(&out, someChecks))
	require.JSONEq(t, `{
		"checks": [
			{"name": "version", "result": "ok", "sentence": "Proxmox VE 8.4.1 answers at https://vmhost:8006 (12ms)"},
			{"name": "storage", "result": "fail", "sentence": "storage tank on vmhost has 41 GiB free, the inventory asks for 448 GiB",
			 "remedy": "free space, or set diskStorage or diskGiB"},
			{"name": "address", "result": "warn", "sentence": "the addresses of VM 205 are not known",
			 "remedy": "give the token VM.Audit on /vms; `+"`em-infra role --stack k3s-dev --lab`"+` prints how"}
		],
		"ok": 1, "warnings": 1, "failures": 1
	}`, out.String())
}

func TestPreflightAndRoleLinesThatAreRefused(t *testing.T) {
	t.Parallel()
	for line, sentence := range map[string]string{
		"preflight": "no stack is named: add --stack NAME, e.g. --stack k3s-dev",
		"preflight --stack k3s-dev --output yaml": `--output: "yaml" is no format: choose text or json`,
		"role":                               "for which release? add --pve 8.4 or --pve 9.1, or --stack NAME to ask the stack's host",
		"role --pve nine":                    `--pve: "nine" is no release of Proxmox VE: write one like 8.4`,
		"role --pve 9.1 --stack k3s-dev":     "--pve and --stack: which of the two is meant? give one",
		"role --backups --stack k3s-dev":     "--backups cannot stand beside --stack: preflight of a stack of hosts says what its backup jobs need: remove --backups",
		"role --snapshots --stack k3s-dev":   "--snapshots cannot stand beside --stack: preflight of a stack of systems says what its snapshots need: remove --snapshots",
		"role --guest-agent --stack k3s-dev": "--guest-agent cannot stand beside --stack: the stack's inventory decides that: remove --guest-agent",
		"role --pve 9.1 --output table":      `--output: "table" is no format: choose text or json`,
	} {
		require.Equal(t, refusal(sentence), em(t.Context(), strings.Fields(line)...), line)
	}
}

func TestRoleForARelease(t *testing.T) {
	t.Parallel()
	result := em(t.Context(), "role", "--pve", "9.1")
	require.Equal(t, exitOK, result.code)
	require.Contains(t, result.out, "\npveum user token add em-infra@pve operator --privsep 0\n")
	require.NotContains(t, result.out, "VM.GuestAgent.Audit")
	require.Contains(t, em(t.Context(), "role", "--pve", "9.1", "--guest-agent").out, "VM.GuestAgent.Audit")
	require.Contains(t, em(t.Context(), "role", "--pve", "8.4", "--guest-agent").out, "VM.Monitor")
	require.NotContains(t, em(t.Context(), "role", "--pve", "9.1").out, "VM.Snapshot")
	require.Contains(t, em(t.Context(), "role", "--pve", "9.1", "--snapshots").out, "VM.Snapshot")
	require.Contains(t, em(t.Context(), "role", "--pve", "9.1", "--backups").out, "VM.Backup")
	require.Contains(t, em(t.Context(), "role", "--pve", "8.4.14", "--output", "json").out, `"release": "8.4"`)
}
