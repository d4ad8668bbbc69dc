package lab

import (
	"net/http"

	"github.com/em-infra/em-infra/internal/lab/fault"
)

// factoryUnavailable is the failure of the Image Factory, which is neither the host's nor a node's.
const factoryUnavailable = "factory-unavailable"

// factoryFaults are the failures of the Image Factory that can be asked for.
var factoryFaults = []fault.Kind{
	{Name: factoryUnavailable, About: "the Image Factory answers no schematic and no image (503)", Source: "F17"},
}

// withFaults puts the failures that are asked for before the Image Factory.
func withFaults(factory http.Handler, asked *fault.Set) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		occurred := asked.Trigger(fault.Occasion{}, func(name string) bool { return name == factoryUnavailable })
		if occurred != "" {
			http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
			return
		}
		factory.ServeHTTP(w, r)
	})
}
