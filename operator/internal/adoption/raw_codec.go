package adoption

import (
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/protobuf/proto"
)

// message is a message of gRPC that is passed on as it is.
type message struct{ bytes []byte }

// rawCodec passes a [message] on and encodes every other one as gRPC does by default.
type rawCodec struct{}

var _ encoding.Codec = rawCodec{}

var errNoMessage = errors.New("this is no message of gRPC")

func (rawCodec) Marshal(v any) ([]byte, error) {
	switch m := v.(type) {
	case *message:
		return m.bytes, nil
	case proto.Message:
		return proto.Marshal(m)
	default:
		return nil, errNoMessage
	}
}

func (rawCodec) Unmarshal(data []byte, v any) error {
	switch m := v.(type) {
	case *message:
		m.bytes = append([]byte(nil), data...) // gRPC uses its buffer again
		return nil
	case proto.Message:
		return proto.Unmarshal(data, m)
	default:
		return errNoMessage
	}
}

// Name is that of the default codec, whose messages are passed on.
func (rawCodec) Name() string { return "proto" }

// largestMessage is what the engine and its plugins accept (pulumi sdk/v3 v3.254.0, go/common/util/rpcutil/serve.go).
const largestMessage = 400 << 20

// calls are the options of a call that passes messages on.
func calls() []grpc.CallOption {
	return []grpc.CallOption{grpc.ForceCodec(rawCodec{}), grpc.MaxCallRecvMsgSize(largestMessage), grpc.MaxCallSendMsgSize(largestMessage)}
}
