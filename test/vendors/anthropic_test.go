package vendors_test

import (
	"context"
	"encoding/json"

	vendor_anthropic "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/stewardhost/steward/internal/adapters/model/anthropic"
	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
)

var anthropicVendor = vendor{
	folder: "anthropic",
	ours:   func(base string) (model, error) { return anthropic.New(base, name, secretKey()) },
	heads:  []string{"Anthropic-Version", "Content-Type"}, // the key has a head of its own or is a bearer's: the vendor takes both
	more: map[string]string{
		"a thought before the text": started +
			event("content_block_start", `"index":0,"content_block":{"type":"thinking","thinking":"","signature":""}`) +
			event("content_block_delta", `"index":0,"delta":{"type":"thinking_delta","thinking":"hm"}`) +
			event("content_block_delta", `"index":0,"delta":{"type":"signature_delta","signature":"c2ln"}`) +
			event("content_block_stop", `"index":0`) +
			event("content_block_start", `"index":1,"content_block":{"type":"text","text":"It "}`) +
			event("content_block_delta", `"index":1,"delta":{"type":"text_delta","text":"rains."}`) +
			event("content_block_stop", `"index":1`) + ended("end_turn"),
		"a call without parts": started +
			event("content_block_start", `"index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"clock","input":{}}`) +
			event("content_block_stop", `"index":0`) + ended("tool_use"),
		"a call that is whole at its start": started +
			event("content_block_start", `"index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Oslo"}}`) +
			event("content_block_stop", `"index":0`) + ended("tool_use"),
		"a refusal": started +
			event("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`) +
			event("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"I would rather"}`) +
			event("content_block_stop", `"index":0`) + ended("refusal"),
	},
	theirs: func(ctx context.Context, base string, question []byte) (conversation.Reply, error) {
		var params vendor_anthropic.MessageNewParams
		if err := json.Unmarshal(question, &params); err != nil {
			return conversation.Reply{}, err
		}
		client := vendor_anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithBaseURL(base), option.WithAPIKey(key), option.WithMaxRetries(0))
		stream := client.Messages.NewStreaming(ctx, params)
		defer stream.Close()
		var all vendor_anthropic.Message
		for stream.Next() {
			if err := all.Accumulate(stream.Current()); err != nil {
				return conversation.Reply{}, err
			}
		}
		if err := stream.Err(); err != nil {
			return conversation.Reply{}, err
		}
		reply := conversation.Reply{Cut: all.StopReason == "max_tokens"}
		for _, block := range all.Content {
			switch block.Type {
			case "text":
				reply.Text += block.Text
			case "tool_use":
				reply.Calls = append(reply.Calls, conversation.Call{ID: block.ID, Name: block.Name, Arguments: string(block.Input)})
			}
		}
		return reply, nil
	},
}

// started begins a stream, event is one of it, and ended its end.
var started = event("message_start", `"message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`)

func event(kind, members string) string {
	return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"," + members + "}\n\n"
}

func ended(reason string) string {
	return event("message_delta", `"delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":15}`) + "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
}
