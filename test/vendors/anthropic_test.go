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
