package inventory

import (
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// Taint keeps pods without a matching toleration away from a node. Its key is the key in the mapping.
type Taint struct {
	// Value may be empty.
	Value string
	// Effect is NoSchedule, PreferNoSchedule or NoExecute.
	Effect TaintEffect
}

// TaintEffect is what a taint does.
type TaintEffect string

// The effects of Kubernetes (core/v1).
const (
	// TaintNoSchedule keeps new pods away.
	TaintNoSchedule TaintEffect = "NoSchedule"
	// TaintPreferNoSchedule keeps new pods away where there is another node for them.
	TaintPreferNoSchedule TaintEffect = "PreferNoSchedule"
	// TaintNoExecute keeps new pods away and evicts those that run.
	TaintNoExecute TaintEffect = "NoExecute"
)

// Choices returns all effects.
func (TaintEffect) Choices() []string {
	return []string{string(TaintNoSchedule), string(TaintPreferNoSchedule), string(TaintNoExecute)}
}

// UnmarshalText reads one of the effects.
func (e *TaintEffect) UnmarshalText(text []byte) error { return choose(e, text) }

// String returns the form of Talos' nodeTaints: value:Effect, or :Effect without a value.
func (t Taint) String() string { return t.Value + ":" + string(t.Effect) }

// MarshalText implements [encoding.TextMarshaler].
func (t Taint) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads value:Effect.
func (t *Taint) UnmarshalText(text []byte) error {
	value, effect, found := strings.Cut(string(text), ":")
	if !found {
		return &strictyaml.Fault{What: "is not a taint", Rule: "value:Effect", Do: "write one like present:NoSchedule"}
	}
	parsed := Taint{Value: value}
	if err := parsed.Effect.UnmarshalText([]byte(effect)); err != nil {
		return err
	}
	*t = parsed
	return nil
}
