package inventory

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// MaxUnavailable is how many workers may be away at a time, as a number or as a percentage of the workers. The zero
// MaxUnavailable means none given.
type MaxUnavailable struct{ value intstr.IntOrString }

// maxUnavailableText is a number from 1, or a percentage from 1 % to 100 %.
var maxUnavailableText = regexp.MustCompile(`^([1-9][0-9]{0,4}|([1-9][0-9]?|100)%)$`)

// Of returns the number of workers, at least 1. A percentage is rounded down, as that of a Deployment in Kubernetes is.
func (m MaxUnavailable) Of(workers int) int {
	number, err := intstr.GetScaledValueFromIntOrPercent(&m.value, workers, false)
	if err != nil {
		return 1 // UnmarshalText accepts nothing that cannot be scaled
	}
	return max(number, 1)
}

// String returns it as it is written in the inventory: 2 or 25%.
func (m MaxUnavailable) String() string { return m.value.String() }

// MarshalYAML returns the number, or the percentage as text.
func (m MaxUnavailable) MarshalYAML() (any, error) {
	if m.value.Type == intstr.Int {
		return m.value.IntValue(), nil
	}
	return m.value.String(), nil
}

// UnmarshalText reads 2 or 25%.
func (m *MaxUnavailable) UnmarshalText(text []byte) error {
	if !maxUnavailableText.Match(text) {
		return &strictyaml.Fault{
			What: "is neither a number of workers nor a percentage of them", Rule: "1 or more, or 1% to 100%", Do: "write one like 2 or 25%",
		}
	}
	m.value = intstr.Parse(string(text))
	return nil
}
