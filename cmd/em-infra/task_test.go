package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
)

var cloning = pve.Task{
	UPID: "UPID:vmhost:0001:0002:0003:qmclone:9000:em-infra@pve!x:", Node: "vmhost", Type: "qmclone", VMID: 9000,
	Since: time.Date(2026, 11, 22, 8, 12, 5, 0, time.Local),
	Log:   []string{"1", "2", "create full clone of drive efidisk0 (tank:base-9000-disk-0)", "4", "5", "6"},
}

func TestTasksAreListedWithTheEndOfTheirLogs(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	printTasks(&out, []pve.Task{cloning})
	require.Equal(t, `qmclone of VM 9000 on vmhost, since 08:12:05
  UPID:vmhost:0001:0002:0003:qmclone:9000:em-infra@pve!x:
  | 2
  | create full clone of drive efidisk0 (tank:base-9000-disk-0)
  | 4
  | 5
  | 6
`, out.String())
	out.Reset()
	printTasks(&out, nil)
	require.Equal(t, "no task is running for the machines of this stack\n", out.String())
}
