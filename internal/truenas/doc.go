// Package truenas is the tool's own connection to TrueNAS: JSON-RPC 2.0 over a WebSocket with verified TLS, and the objects that a
// cluster needs there. What the API does was read in github.com/truenas/middleware at the tag TS-25.10.6.
package truenas
