package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// Client sends requests to the lab that runs in a folder.
type Client struct{ http *http.Client }

// NewClient returns a client of the lab in a folder. It connects for every request.
func NewClient(dir string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var connection net.Conn
		err := inFolder(dir, func(socket string) (err error) {
			connection, err = (&net.Dialer{}).DialContext(ctx, "unix", socket)
			return err
		})
		return connection, err
	}
	return &Client{http: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// Faults returns the faults that are set, in the order in which they were set.
func (c *Client) Faults(ctx context.Context) ([]fault.State, error) {
	var list []fault.State
	err := c.ask(ctx, http.MethodGet, faultsPath, nil, &list)
	return list, err
}

// SetFault sets a fault. The error wraps ErrRefused if the fault is invalid.
func (c *Client) SetFault(ctx context.Context, f fault.Fault) error {
	return c.ask(ctx, http.MethodPost, faultsPath, f, nil)
}

// ClearFaults clears the faults of a name, or all for "". It returns how many there were.
func (c *Client) ClearFaults(ctx context.Context, name string) (int, error) {
	var answered cleared
	err := c.ask(ctx, http.MethodDelete, faultsPath+"?"+url.Values{"name": {name}}.Encode(), nil, &answered)
	return answered.Cleared, err
}

// Unlock removes a VM's lock. The error wraps ErrRefused if there is no such VM or lock.
func (c *Client) Unlock(ctx context.Context, vmid int) error {
	return c.ask(ctx, http.MethodDelete, locksPath+strconv.Itoa(vmid), nil, nil)
}

// Reset restarts a VM. The error wraps ErrRefused if it does not run.
func (c *Client) Reset(ctx context.Context, vmid int) error {
	return c.ask(ctx, http.MethodPost, resetsPath+strconv.Itoa(vmid), nil, nil)
}

// SetUp changes what a person sets up at a host. The error wraps ErrRefused if there is no such host or device.
func (c *Client) SetUp(ctx context.Context, host string, change proxmox.SetupChange) error {
	return c.ask(ctx, http.MethodPost, setupsPath+url.PathEscape(host), change, nil)
}

// refusal is the lab's own error text.
type refusal struct{ text string }

func (r refusal) Error() string { return r.text }

func (refusal) Unwrap() error { return ErrRefused }

func (c *Client) ask(ctx context.Context, verb, path string, what, into any) error {
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, verb, "http://lab"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("ask the lab: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		if into == nil {
			return nil
		}
		return json.NewDecoder(response.Body).Decode(into)
	}
	return failed(response)
}

// failed returns the error in a response.
func failed(response *http.Response) error {
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("ask the lab: %w", err)
	}
	var answer failure
	switch err := json.Unmarshal(raw, &answer); {
	case err != nil:
		return fmt.Errorf("ask the lab: %s: %s", response.Status, bytes.TrimSpace(raw))
	case response.StatusCode == http.StatusUnprocessableEntity:
		return refusal{strings.TrimPrefix(answer.Error, ErrRefused.Error()+": ")}
	default:
		return errors.New(answer.Error)
	}
}
