package talos

import (
	"context"
	"fmt"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/validation"
)

// platformName is the Talos platform for Proxmox VE.
const platformName = "nocloud"

// platformMode is the runtime mode of the nocloud platform: "cloud", in which a configuration needs no install section
// (platform/nocloud/nocloud.go, runtime/mode.go).
type platformMode struct{}

var _ validation.RuntimeMode = platformMode{}

func (platformMode) String() string { return "cloud" }

func (platformMode) RequiresInstall() bool { return false }

func (platformMode) InContainer() bool { return false }

// validate validates a configuration with Talos' own code, first alone and then for this machine. The prefixes are those of
// the two servers' errors.
func (s *system) validate(ctx context.Context, cfg config.Provider, prefix, runtimePrefix string) (warnings []string, err error) {
	warnings, err = cfg.Validate(platformMode{})
	if err != nil {
		return nil, fmt.Errorf("%s%w", prefix, err)
	}

	neutral, err := withoutKubernetes(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s%w", runtimePrefix, err)
	}

	more, err := neutral.RuntimeValidate(ctx, s.resources, platformMode{})
	if err == nil {
		err = checkKubernetes(s.release.Version, cfg)
	}

	if err == nil {
		err = checkAddresses(s.hardware, cfg)
	}

	if err != nil {
		return nil, fmt.Errorf("%s%w", runtimePrefix, err)
	}

	return slices.Concat(warnings, more), nil
}
