package lab

import (
	"net/http"

	"github.com/em-infra/em-infra/internal/lab/fault"
)

// factoryUnavailable is the fault of the Image Factory.
const factoryUnavailable = "factory-unavailable"

// factoryFaults are the faults of the Image Factory.
var factoryFaults = []fault.Kind{
	{Name: factoryUnavailable, About: "the Image Factory answers no schematic and no image (503)", Source: "F17"},
}

// withFaults wraps the Image Factory with its faults.
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
