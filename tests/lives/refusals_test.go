package lives_test

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/lives/model"
)

// upgradesLater matches the refusal of an upgrade of Kubernetes in the run that removes a control plane.
var upgradesLater = regexp.MustCompile(`set kubernetes\.version back to v1\.35\.(\d+), run up, and then upgrade Kubernetes`)

// takesAllPhases is in the refusal of a run that would tear a removal apart.
const takesAllPhases = "run up with neither --until, --only nor --only-node"

// followsRefusal does what a refusal says, if that means another run or one thing after the other, and returns the last run. The refusal
// must have touched nothing.
func (f *life) followsRefusal(what string, refusal model.Run) (last model.Run, followed bool) {
	f.t.Helper()
	if refusal.Code != model.Refused {
		return refusal, false
	}
	refusal.Excused = true
	if match := upgradesLater.FindStringSubmatch(refusal.Output); match != nil {
		f.judge(refusal)
		former, err := strconv.Atoi(match[1])
		require.NoError(f.t, err)
		return f.upgradesAfterwards(what, former), true
	}
	if strings.Contains(refusal.Output, takesAllPhases) {
		f.judge(refusal)
		f.say("  all phases")
		return f.run("up"), true
	}
	return refusal, false
}

// upgradesAfterwards runs with the former patch release of Kubernetes, and then with the wanted one.
func (f *life) upgradesAfterwards(what string, former int) model.Run {
	f.t.Helper()
	f.say("  one after the other: Kubernetes later")
	wanted := f.site.Kubernetes
	f.site.Kubernetes = former
	f.writeInventory()
	first := f.run(what)
	f.site.Kubernetes = wanted
	f.writeInventory()
	if first.Code != 0 || first.Killed {
		return first
	}
	return f.run(what)
}
