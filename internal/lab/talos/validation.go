package talos

import (
	"context"
	"fmt"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/validation"
)

// platformName is the platform whose ISO and installer a Proxmox VM runs.
const platformName = "nocloud"

// platformMode is the runtime mode of the nocloud platform: "cloud", in which a configuration needs no install section
// (platform/nocloud/nocloud.go, runtime/mode.go).
type platformMode struct{}

var _ validation.RuntimeMode = platformMode{}

func (platformMode) String() string { return "cloud" }

func (platformMode) RequiresInstall() bool { return false }

func (platformMode) InContainer() bool { return false }

// validate has Talos' own code judge a configuration, first by itself and then against this machine. The prefixes are
// what the two server modes put before an error.
func (s *system) validate(ctx context.Context, cfg config.Provider, prefix, runtimePrefix string) (warnings []string, err error) {
	warnings, err = cfg.Validate(platformMode{})
	if err != nil {
		return nil, fmt.Errorf("%s%w", prefix, err)
	}

	more, err := cfg.RuntimeValidate(ctx, s.resources, platformMode{})
	if err == nil {
		err = checkAddresses(s.hardware, cfg)
	}

	if err != nil {
		return nil, fmt.Errorf("%s%w", runtimePrefix, err)
	}

	return slices.Concat(warnings, more), nil
}
