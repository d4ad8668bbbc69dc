package discovery

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/engine/plan"
)

// The contracts that clusters can have been made with: minor releases of Talos 1.
const firstContract, lastContract = 2, 12

// contractOf returns the contract by whose rules a machine configuration of a control plane was most likely made: the one whose
// defaults differ from it in the fewest places, of several the latest.
func contractOf(running config.Provider) (string, error) {
	has, err := documents(running)
	if err != nil {
		return "", err
	}
	bundle := secrets.NewBundleFromConfig(secrets.NewClock(), running)
	best, fewest := "", 0
	for minor := lastContract; minor >= firstContract; minor-- {
		name := fmt.Sprintf("v1.%d", minor)
		contract, err := config.ParseContractFromVersion(name)
		if err != nil {
			return "", err
		}
		input, err := generate.NewInput(running.Cluster().Name(), running.Cluster().Endpoint().String(), kubernetesOf(running),
			generate.WithSecretsBundle(bundle), generate.WithVersionContract(contract))
		if err != nil {
			return "", err
		}
		made, err := input.Config(running.Machine().Type())
		if err != nil {
			return "", err
		}
		would, err := documents(made)
		if err != nil {
			return "", err
		}
		if differences := len(plan.Differences("", would, has)); best == "" || differences < fewest {
			best, fewest = name, differences
		}
	}
	return best, nil
}

// kubernetesOf returns the version of Kubernetes of a machine configuration, without the v.
func kubernetesOf(running config.Provider) string {
	image := running.Machine().Kubelet().Image()
	return strings.TrimPrefix(image[strings.LastIndex(image, ":")+1:], "v")
}

// documents returns the documents of a machine configuration by their kinds; the main one, which has none, by the empty kind.
func documents(configuration config.Provider) (map[string]any, error) {
	text, err := configuration.Bytes()
	if err != nil {
		return nil, err
	}
	parts := map[string]any{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document map[string]any
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		kind, _ := document["kind"].(string)
		parts[kind] = document
	}
}

// parse reads a machine configuration. Its error quotes nothing of it.
func parse(text []byte) (config.Provider, error) {
	parsed, err := configloader.NewFromBytes(text)
	if err != nil || parsed.Machine() == nil || parsed.Cluster() == nil {
		return nil, errors.New("its machine configuration cannot be read")
	}
	return parsed, nil
}
