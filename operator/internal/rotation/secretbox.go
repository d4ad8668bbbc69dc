package rotation

import (
	"encoding/json"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/state"
)

// Names of the two keys for Secrets, in the machine secrets of the provider and in a machine configuration.
const (
	aescbcName    = "aescbcEncryptionSecret"
	secretboxName = "secretboxEncryptionSecret"
)

// rawState is what a bridged provider keeps for itself, and rawSecrets where the keys are in it. It takes precedence over the outputs
// (pulumi-terraform-bridge v3.116.0, pkg/tfbridge/rawstate.go, replaceDelta).
const rawState = "__pulumi_raw_state_delta"

var rawSecrets = []string{"obj", "ps", "machineSecrets", "replace", "raw", "secrets"}

// SecretboxIn writes a key of secretbox into a deployment with its secrets in clear text, in the place of the key of aescbc: into the
// machine secrets, and into machine configurations, in which the one line stands where the other one did. It can be repeated.
func (r Replacements) SecretboxIn(deployment *apitype.DeploymentV3) error {
	if err := r.check(); err != nil {
		return err
	}
	var pairs []string
	for _, one := range r {
		pairs = append(pairs, aescbcName+": "+one.Old, secretboxName+": "+one.New)
	}
	replacer := strings.NewReplacer(pairs...)
	for i := range deployment.Resources {
		one := &deployment.Resources[i]
		if one.Type == noteType {
			continue
		}
		text, err := json.Marshal(one)
		if err != nil {
			return err
		}
		var replaced apitype.ResourceV3
		if err := json.Unmarshal([]byte(replacer.Replace(string(text))), &replaced); err != nil {
			return errNotReplaceable
		}
		*one = replaced
	}
	secrets := state.MachineSecrets(*deployment)
	if secrets == nil {
		return errNotReplaceable
	}
	changed, err := propertymap.Change(secrets.Outputs["machineSecrets"], r.moved(aescbcName, secretboxName), "secrets")
	if err != nil {
		return err
	}
	secrets.Outputs["machineSecrets"] = changed
	raw, err := propertymap.Change(secrets.Outputs[rawState], r.moved("aescbc_encryption_secret", "secretbox_encryption_secret"), rawSecrets...)
	if err != nil {
		delete(secrets.Outputs, rawState) // it has nothing to replace, or is not there: the provider reads the outputs then
		return nil
	}
	secrets.Outputs[rawState] = raw
	return nil
}

// moved returns the change with which the new secret stands under another name, marked as the old one was.
func (r Replacements) moved(from, to string) func(map[string]any) error {
	return func(keys map[string]any) error {
		present, has := keys[from]
		if !has || present == nil {
			return nil // it was changed before
		}
		text, err := json.Marshal(present)
		if err != nil {
			return err
		}
		var latter any
		if err := json.Unmarshal([]byte(r.replacer().Replace(string(text))), &latter); err != nil {
			return errNotReplaceable
		}
		delete(keys, from)
		keys[to] = latter
		return nil
	}
}
