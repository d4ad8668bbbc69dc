package lives_test

import (
	"regexp"
	"strconv"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/lives/model"
)

// upgradesLater matches the refusal of an upgrade of Kubernetes in the run that removes a control plane.
var upgradesLater = regexp.MustCompile(`set kubernetes\.version back to v1\.35\.(\d+), run up, and then upgrade Kubernetes`)

// followsRefusal does what a refusal says, if that means to do one thing after the other, and returns the last run.
func (f *life) followsRefusal(what string, refusal model.Run) (last model.Run, followed bool) {
	f.t.Helper()
	told := upgradesLater.FindStringSubmatch(refusal.Output)
	if refusal.Code != model.Refused || told == nil {
		return refusal, false
	}
	former, err := strconv.Atoi(told[1])
	require.NoError(f.t, err)
	refusal.Excused = true // it is right, and must have touched nothing
	f.judge(refusal)
	f.say("  one after the other: Kubernetes later")
	wanted := f.site.Kubernetes
	f.site.Kubernetes = former
	f.writeInventory()
	if last = f.run(what); last.Code != 0 || last.Killed {
		f.site.Kubernetes = wanted
		f.writeInventory()
		return last, true
	}
	f.site.Kubernetes = wanted
	f.writeInventory()
	return f.run(what), true
}
