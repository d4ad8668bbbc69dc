package talos

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/config"
	configtypes "github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/nethelpers"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
)

// route is a route of the main table. The destination of a default route is the zero prefix, as in Talos.
type route struct {
	destination netip.Prefix
	gateway     netip.Addr
	metric      uint32
}

// wantedRoutes returns the routes of the configuration drive, which Talos reads at every boot, followed by those of the
// configuration. Only equal routes are merged (pkg/machinery/resources/network/route_merge.go, configlayer.go).
func wantedRoutes(hardware Hardware, cfg config.Config) ([]route, error) {
	var wanted []route

	if gateway := hardware.CloudInit.Gateway; gateway.Is4() {
		wanted = append(wanted, route{gateway: gateway, metric: network.DefaultRouteMetric})
	}

	configured, err := configuredRoutes(cfg)
	if err != nil {
		return nil, err
	}

	for _, r := range configured {
		if r.gateway.IsValid() && !slices.Contains(wanted, r) {
			wanted = append(wanted, r)
		}
	}

	return wanted, nil
}

// configuredRoutes returns the routes of a machine configuration, in its old form and in its documents.
func configuredRoutes(cfg config.Config) ([]route, error) {
	if cfg == nil {
		return nil, nil
	}

	var routes []route

	if cfg.Machine() != nil {
		for _, device := range cfg.Machine().Network().Devices() {
			for _, configured := range device.Routes() {
				r, err := routeOf(configured)
				if err != nil {
					return nil, err
				}

				routes = append(routes, r)
			}
		}
	}

	for _, link := range cfg.NetworkCommonLinkConfigs() {
		for _, configured := range link.Routes() {
			routes = append(routes, route{
				destination: defaultAsZero(configured.Destination().ValueOrZero()), gateway: configured.Gateway().ValueOrZero(),
				metric: configured.Metric().ValueOr(network.DefaultRouteMetric),
			})
		}
	}

	return routes, nil
}

func routeOf(configured configtypes.Route) (route, error) {
	r := route{metric: configured.Metric()}
	if r.metric == 0 {
		r.metric = network.DefaultRouteMetric
	}

	var err error

	if text := configured.Gateway(); text != "" {
		if r.gateway, err = netip.ParseAddr(text); err != nil {
			return r, fmt.Errorf("gateway %q of the machine configuration: %w", text, err)
		}
	}

	if text := configured.Network(); text != "" {
		if r.destination, err = netip.ParsePrefix(text); err != nil {
			return r, fmt.Errorf("route %q of the machine configuration: %w", text, err)
		}
	}

	r.destination = defaultAsZero(r.destination)

	return r, nil
}

func defaultAsZero(destination netip.Prefix) netip.Prefix {
	if destination.IsValid() && destination.Bits() == 0 {
		return netip.Prefix{}
	}

	return destination
}

// errFileExists is the kernel's error for a second route with the same destination and metric. Talos adds routes with
// NLM_F_EXCL (rtnetlink, Route.Add) and retries forever.
var errFileExists = errors.New("netlink receive: file exists")

// kernelRoutes returns the routes after Talos has removed unwanted ones and added wanted ones: one for each destination and
// metric, the first that came. The others are refused.
func kernelRoutes(present, wanted []route) (there []route, refused error) {
	for _, r := range present {
		if slices.Contains(wanted, r) {
			there = append(there, r)
		}
	}

	for _, r := range wanted {
		switch {
		case slices.Contains(there, r):
		case slices.ContainsFunc(there, func(other route) bool { return other.replaces(r) }):
			refused = errors.Join(refused, fmt.Errorf("error adding route: %w, gateway %s, metric %d", errFileExists, r.gateway, r.metric))
		default:
			there = append(there, r)
		}
	}

	return there, refused
}

// publishRoutes updates the kernel's routes and publishes them. The error contains the routes that the kernel refused.
func (s *system) publishRoutes(cfg config.Config) error {
	wanted, err := wantedRoutes(s.hardware, cfg)
	if err != nil {
		return err
	}

	s.mu.Lock()
	former := s.routes
	there, refused := kernelRoutes(former, wanted)
	s.routes = there
	s.mu.Unlock()

	if refused != nil {
		s.vm.note(StepFailure, refused, s.fleet.config.Now())
	}

	var errs []error

	for _, r := range former {
		if !slices.Contains(there, r) {
			errs = append(errs, withdraw(s, network.NewRouteStatus(network.NamespaceName, r.id())))
		}
	}

	for _, r := range there {
		errs = append(errs, put(s, network.NewRouteStatus(network.NamespaceName, r.id()), func(status *network.RouteStatus) {
			*status.TypedSpec() = network.RouteStatusSpec{
				Family: familyOf(r.gateway), Destination: r.destination, Gateway: r.gateway, OutLinkName: cardName(0),
				Table: nethelpers.TableMain, Priority: r.metric, Scope: nethelpers.ScopeGlobal,
				Type: nethelpers.TypeUnicast, Protocol: nethelpers.ProtocolStatic,
			}
		}))
	}

	return errors.Join(errs...)
}

// replaces reports whether the kernel has no room for the other route beside this one.
func (r route) replaces(other route) bool {
	return r.gateway.Is4() == other.gateway.Is4() && r.destination == other.destination && r.metric == other.metric
}

func (r route) id() string {
	return network.RouteID(nethelpers.TableMain, familyOf(r.gateway), r.destination, r.gateway, r.metric, cardName(0))
}
