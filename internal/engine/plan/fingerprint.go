package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

// fingerprintBytes is the length of a fingerprint: short enough to be typed, and too long for two plans of one stack to share it.
const fingerprintBytes = 8

// birthProperty of a machine has a new random identifier in each preview of its creation.
const birthProperty = "smbios"

// Fingerprint identifies what the steps do, and what else belongs to the plan: the same operations on the same resources with the same
// values have the same one. The engine hides the values of secrets, so plans that differ only in one of these have the same one, too.
func Fingerprint(steps []Step, also any) (string, error) {
	hash := sha256.New()
	encoder := json.NewEncoder(hash)
	for _, s := range Changing(steps) {
		if err := encoder.Encode([]any{s.Op, s.URN, s.Changed, s.ByHand, s.Failed, wanted(s.New)}); err != nil {
			return "", err
		}
	}
	if err := encoder.Encode(also); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)[:fingerprintBytes]), nil
}

// wanted returns inputs without what differs between two previews of the same plan.
func wanted(inputs map[string]any) map[string]any {
	kept := maps.Clone(inputs)
	maps.DeleteFunc(kept, func(name string, _ any) bool { return strings.HasPrefix(name, "__") || name == birthProperty })
	return kept
}

// Changing returns the steps that change something.
func Changing(steps []Step) []Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return s.Op == apitype.OpSame && len(s.ByHand) == 0 })
}
