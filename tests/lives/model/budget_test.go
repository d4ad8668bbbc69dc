package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/lives/model"
)

func TestABrokenBudgetIsFound(t *testing.T) {
	t.Parallel()
	at := func(second int) time.Time { return time.Date(2026, 11, 26, 12, 0, second, 0, time.UTC) }
	nodes := map[int]string{111: "worker-1", 112: "worker-2"}
	reboot := []model.Outage{{VMID: 111, From: at(10), To: at(20)}}
	for name, test := range map[string]struct {
		pod  model.Pod
		says []string
	}{
		"is evicted before":    {model.Pod{Node: "worker-1", Since: at(1), Leaves: at(9), Disrupted: true}, nil},
		"is on another node":   {model.Pod{Node: "worker-2", Since: at(1)}, nil},
		"comes while it boots": {model.Pod{Node: "worker-1", Since: at(11)}, nil},
		"is on it": {model.Pod{Name: "a", Node: "worker-1", Since: at(1)},
			[]string{"disruptions: worker-1 (VM 111) was taken down at Nov 26 12:00:10.000 while the pod a was on it"}},
		"leaves too late": {model.Pod{Name: "a", Node: "worker-1", Since: at(1), Leaves: at(11), Disrupted: true},
			[]string{"disruptions: worker-1 (VM 111) was taken down at Nov 26 12:00:10.000 while the pod a was on it"}},
		"is deleted": {model.Pod{Name: "a", Node: "worker-1", Since: at(1), Leaves: at(9)},
			[]string{"disruptions: the pod a on worker-1 was deleted at Nov 26 12:00:09.000 without an eviction"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var says []string
			for _, violation := range model.Budget(nodes, []model.Pod{test.pod}, reboot) {
				says = append(says, violation.String())
			}
			require.Equal(t, test.says, says)
		})
	}
}
