// Package rotation writes new machine secrets into the state of a cluster in the place of the old ones, and keeps in the state what a
// rotation needs until it has ended. Pure.
package rotation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

// Replacement is a secret as the state contains it, and the one in its place.
type Replacement struct {
	// Old is the secret from before.
	Old string `json:"old"`
	// New is the secret that replaces it.
	New string `json:"new"`
}

// Replacements are those of one rotation. All of them are secret.
type Replacements []Replacement

// replaceable matches the secrets that can be replaced: certificates and keys in base64, and tokens. They are too long to occur anywhere by chance,
// and contain nothing that JSON or YAML would write in another way, no matter how often one text is wrapped in another.
var replaceable = regexp.MustCompile(`^[A-Za-z0-9+/=._-]{16,}$`)

// errNotReplaceable wraps no cause, which could quote a secret.
var errNotReplaceable = errors.New("a machine secret has a form that cannot be replaced in the state: restore the state from a backup")

// check refuses what cannot be replaced safely. A rotation that is repeated would replace a new secret that contains the old one again.
func (r Replacements) check() error {
	for _, one := range r {
		if !replaceable.MatchString(one.Old) || !replaceable.MatchString(one.New) || strings.Contains(one.New, one.Old) {
			return errNotReplaceable
		}
	}
	return nil
}

// In writes the new secrets into a deployment with its secrets in clear text, wherever the old ones are: in the machine secrets, in
// machine configurations, in credentials, and in what a bridged provider keeps for itself, which takes precedence over the outputs
// (pulumi-terraform-bridge v3.116.0, pkg/tfbridge/rawstate.go, replaceDelta). So the state is what it would be if the cluster had been
// made with the new secrets, and the engine finds nothing to change. The SHA-256 of a secret, in hexadecimal, is replaced as well: the
// kubeconfig of a cluster depends on that of its CA. The note of a rotation is left alone.
func (r Replacements) In(deployment *apitype.DeploymentV3) error {
	if err := r.check(); err != nil {
		return err
	}
	replacer := r.replacer()
	for i := range deployment.Resources {
		if deployment.Resources[i].Type == noteType {
			continue
		}
		text, err := json.Marshal(deployment.Resources[i])
		if err != nil {
			return err
		}
		var replaced apitype.ResourceV3
		if err := json.Unmarshal([]byte(replacer.Replace(string(text))), &replaced); err != nil {
			return errNotReplaceable
		}
		deployment.Resources[i] = replaced
	}
	return nil
}

func (r Replacements) replacer() *strings.Replacer {
	pairs := make([]string, 0, 4*len(r))
	for _, one := range r {
		pairs = append(pairs, one.Old, one.New, sum(one.Old), sum(one.New))
	}
	return strings.NewReplacer(pairs...)
}

func sum(text string) string {
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:])
}
