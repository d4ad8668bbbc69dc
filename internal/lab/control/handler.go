package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// cleared is the response to a request to clear faults.
type cleared struct {
	Cleared int `json:"cleared"`
}

// failure is the response to a request that fails.
type failure struct {
	Error string `json:"error"`
}

// Handler returns the HTTP handler for the requests to a lab.
func Handler(lab Lab) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+faultsPath, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, lab.Faults(), nil)
	})
	mux.HandleFunc("POST "+faultsPath, func(w http.ResponseWriter, r *http.Request) {
		var f fault.Fault
		err := json.NewDecoder(r.Body).Decode(&f)
		if err != nil {
			err = fmt.Errorf("%w: that is no fault: %w", ErrRefused, err)
		} else {
			err = lab.SetFault(f)
		}
		answer(w, nil, err)
	})
	mux.HandleFunc("DELETE "+faultsPath, func(w http.ResponseWriter, r *http.Request) {
		count, err := lab.ClearFaults(r.URL.Query().Get("name"))
		answer(w, cleared{count}, err)
	})
	mux.HandleFunc("DELETE "+locksPath+"{vmid}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, nil, ofVM(r, lab.Unlock))
	})
	mux.HandleFunc("POST "+resetsPath+"{vmid}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, nil, ofVM(r, lab.Reset))
	})
	mux.HandleFunc("POST "+setupsPath+"{host}", func(w http.ResponseWriter, r *http.Request) {
		var change proxmox.SetupChange
		err := json.NewDecoder(r.Body).Decode(&change)
		if err != nil {
			err = fmt.Errorf("%w: that is no setup: %w", ErrRefused, err)
		} else {
			err = lab.SetUp(r.PathValue("host"), change)
		}
		answer(w, nil, err)
	})
	return mux
}

// ofVM calls do with the VMID of a request.
func ofVM(r *http.Request, do func(context.Context, int) error) error {
	vmid, err := strconv.Atoi(r.PathValue("vmid"))
	if err != nil {
		return fmt.Errorf("%w: %q is no VMID", ErrRefused, r.PathValue("vmid"))
	}
	return do(r.Context(), vmid)
}

// answer writes the response to a request. An error of the connection is ignored.
func answer(w http.ResponseWriter, what any, err error) {
	status := http.StatusOK
	switch {
	case errors.Is(err, ErrRefused):
		status, what = http.StatusUnprocessableEntity, failure{err.Error()}
	case err != nil:
		status, what = http.StatusInternalServerError, failure{err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(what)
}
