package removal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/removal"
)

// full is what all members report while etcd has an alarm about space.
const full = "etcd has reached the quota of its database and takes no writes: `em-infra etcd defragment` frees it"

// members reads members from words: cp-1 works, cp-1! does not, cp-1* reports an alarm, cp-1+ is a learner, and + alone one that has not
// started yet.
func members(words string) []nodeops.EtcdMember {
	var all []nodeops.EtcdMember
	for i, word := range strings.Fields(words) {
		member := nodeops.EtcdMember{ID: uint64(i + 1), Name: strings.TrimRight(word, "!+*"), Address: fmt.Sprintf("192.168.20.%d", 11+i), Learner: strings.HasSuffix(word, "+")}
		if strings.HasSuffix(word, "!") {
			member.Problem = "its Talos API does not answer"
		}
		if strings.HasSuffix(word, "*") {
			member.Problem, member.Alarmed = full, true
		}
		all = append(all, member)
	}
	return all
}

// The rule is that of etcd: a majority of the voting members before the removal and after it.
func TestEtcdKeepsItsMajority(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ name, members, goes, stay, want string }{
		{"one of three", "cp-1 cp-2 cp-3", "cp-3", "cp-1 cp-2", ""},
		{"one of two, on the way to one", "cp-1 cp-2", "cp-2", "cp-1", ""},
		{"one of five", "cp-1 cp-2 cp-3 cp-4 cp-5", "cp-1", "cp-2 cp-3 cp-4", ""},
		{"a dead one of three", "cp-1 cp-2 cp-3!", "cp-3", "cp-1 cp-2", ""},
		{"a dead one of five, of which another is dead", "cp-1 cp-2 cp-3 cp-4! cp-5!", "cp-5", "cp-1 cp-2 cp-3 cp-4", ""},
		{"a learner that never got its vote", "cp-1 cp-2+", "cp-2", "cp-1", ""},
		{"the only one", "cp-1", "cp-1", "cp-9", "it is the only member"},
		{"one that works of three, of which another is dead", "cp-1 cp-2 cp-3!", "cp-1", "cp-2 cp-3", "without it, 1 of 2 members would work, which is no majority (cp-3: its Talos API does not answer)"},
		{"one of two, of which the other is dead", "cp-1 cp-2!", "cp-1", "cp-2", "1 of 2 members work, which is no majority (cp-2: its Talos API does not answer)"},
		{"a dead one without a majority", "cp-1 cp-2! cp-3!", "cp-3", "cp-1", "1 of 3 members work, which is no majority (cp-2: its Talos API does not answer, and it is no control plane of nodes.yaml, cp-3: its Talos API does not answer)"},
		{"while etcd has an alarm", "cp-1* cp-2* cp-3*", "cp-3", "cp-1 cp-2", full},
		{"a dead one while etcd has an alarm", "cp-1* cp-2* cp-3!", "cp-3", "cp-1 cp-2", full},
		{"while one joins", "cp-1 cp-2 cp-3 cp-4+", "cp-3", "cp-1 cp-2 cp-4", "the member at 192.168.20.14 is joining"},
		{"while one starts that nobody knows", "cp-1 cp-2 cp-3 +", "cp-3", "cp-1 cp-2", "the member at 192.168.20.14 is joining, and it is no control plane of nodes.yaml"},
		{"before its successor has joined", "cp-1 cp-2 cp-3", "cp-3", "cp-1 cp-2 cp-4", "cp-4, which stays, is no member yet"},
		{"while one that stays does not work", "cp-1 cp-2 cp-3 cp-4 cp-5!", "cp-3", "cp-1 cp-2 cp-5", "cp-5, which stays, does not work: its Talos API does not answer"},
		{"its machine is replaced", "cp-1 cp-2 cp-3", "cp-3", "cp-1 cp-2 cp-3", ""},
		{"its machine is replaced under another name", "cp-1 cp-2 cp-3", "cp-3/cp-9", "cp-1 cp-2 cp-9", ""},
		{"its machine is replaced under another name before another one is back", "cp-1 cp-2", "cp-2/cp-9", "cp-1 cp-9 cp-3", "cp-3, which stays, is no member yet"},
		{"its machine is replaced before another one is back", "cp-1 cp-2", "cp-2", "cp-1 cp-2 cp-3", "cp-3, which stays, is no member yet"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			goes, successor, _ := strings.Cut(test.goes, "/")
			err := removal.Spares(goes, successor, strings.Fields(test.stay), members(test.members))
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
		})
	}
}
