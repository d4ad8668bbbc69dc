package birth

import (
	"fmt"
	"strings"
)

// RefusedError lists the changes that a run cannot make. It is returned before anything is changed.
type RefusedError struct {
	// Problems has one sentence for each refused change. The sentence ends with what to do instead.
	Problems []string
}

// Error returns a line for each problem.
func (e *RefusedError) Error() string {
	return strings.Join(e.Problems, "\n") + "; nothing was touched"
}

// CheckCluster refuses a change of a fact that cannot change for an existing cluster. It accepts a fact that is missing in the
// state, since older versions did not record it. The error is a [RefusedError] with a sentence for each fact.
func CheckCluster(before, wanted Facts) error {
	var problems []string
	for _, fact := range []struct{ name, before, wanted, why string }{
		{
			keyContract, before.Contract, wanted.Contract,
			"every machine configuration would be made by other rules, among them what disks are encrypted with",
		},
		{keyPodSubnets, join(before.PodSubnets), join(wanted.PodSubnets), "nodes and pods keep the networks that they were given"},
		{
			keyServiceSubnets, join(before.ServiceSubnets), join(wanted.ServiceSubnets),
			"services keep their addresses, and the API server's certificate names one",
		},
		{keyCNI, before.CNI, wanted.CNI, "the former network plugin would stay beside the new one"},
	} {
		if fact.before != "" && fact.before != fact.wanted {
			problems = append(problems, fmt.Sprintf("%s %s → %s cannot change, since the cluster was born with it (%s): set %s back to %s, or destroy the cluster and bring it up anew",
				fact.name, fact.before, fact.wanted, fact.why, fact.name, fact.before))
		}
	}
	return refusal(problems)
}

// CheckPlain refuses machines that a run of the engine alone would break. Such a run would create a machine with the VMID or an
// address of another machine while the other machine still exists.
func CheckPlain(before, wanted Facts) error {
	var problems []string
	for _, m := range wanted.Machines {
		for _, other := range before.Machines {
			if has := other.has(m); has != "" && other.Name != m.Name && !stood(before, m) {
				problems = append(problems, fmt.Sprintf(
					"%s has the %s of %s, and would be made while that one still stands: run `em-infra up`, which replaces a machine under another name, or give it the name %s again",
					m.Name, has, other.Name, other.Name))
			}
		}
	}
	return refusal(problems)
}

// stood reports whether the machine existed with the same facts.
func stood(before Facts, m Machine) bool {
	for _, was := range before.Machines {
		if was.Name == m.Name && len(was.differences(m)) == 0 {
			return true
		}
	}
	return false
}

func refusal(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return &RefusedError{Problems: problems}
}

func join(list []string) string { return strings.Join(list, ", ") }
