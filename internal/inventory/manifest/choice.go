package manifest

import (
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// Choice is text with a few valid values.
type Choice interface {
	~string
	Choices() []string
}

// Choose sets the target to the choice that the text names. The error is a [*strictyaml.Fault] with all choices.
func Choose[T Choice](target *T, text []byte) error {
	choices := (*target).Choices()
	for _, word := range choices {
		if word == string(text) {
			*target = T(word)
			return nil
		}
	}
	fault := &strictyaml.Fault{What: "is none of the choices", Rule: strings.Join(choices, ", "), Do: "choose one of them"}
	if near := strictyaml.Nearest(string(text), choices); near != "" {
		fault.Do = "did you mean " + near + "?"
	}
	return fault
}
