package vendors_test

import (
	"context"
	"encoding/json"

	vendor_openai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/stewardhost/steward/internal/adapters/model/openai"
	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
)

var openaiVendor = vendor{
	folder: "openai",
	ours:   func(base string) (model, error) { return openai.New(base+"/v1", name, secretKey()) },
	heads:  []string{"Authorization", "Content-Type"},
	more: map[string]string{
		"the first words with the role": chunk(`{"role":"assistant","content":"It "}`, "null") + chunk(`{"content":"rains."}`, `"stop"`) + "data: [DONE]\n\n",
		"a thought beside the text":     chunk(`{"role":"assistant","content":null,"reasoning_content":"hm"}`, "null") + chunk(`{"content":"Rain."}`, "null") + chunk(`{}`, `"stop"`) + "data: [DONE]\n\n",
		"calls whose parts alternate": chunk(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"weather","arguments":""}}]}`, "null") +
			chunk(`{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"clock","arguments":"{"}}]}`, "null") +
			chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]}`, "null") +
			chunk(`{"tool_calls":[{"index":1,"function":{"arguments":"}"}},{"index":0,"function":{"arguments":"\"Oslo\"}"}}]}`, `"tool_calls"`) + "data: [DONE]\n\n",
		"a call and its end at once": chunk(`{"role":"assistant","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"clock","arguments":"{}"}}]}`, `"tool_calls"`) + "data: [DONE]\n\n",
	},
	theirs: func(ctx context.Context, base string, question []byte) (conversation.Reply, error) {
		var params vendor_openai.ChatCompletionNewParams
		if err := json.Unmarshal(question, &params); err != nil {
			return conversation.Reply{}, err
		}
		client := vendor_openai.NewClient(option.WithBaseURL(base+"/v1"), option.WithAPIKey(key), option.WithMaxRetries(0))
		stream := client.Chat.Completions.NewStreaming(ctx, params)
		defer stream.Close()
		var all vendor_openai.ChatCompletionAccumulator
		for stream.Next() {
			all.AddChunk(stream.Current())
		}
		if err := stream.Err(); err != nil {
			return conversation.Reply{}, err
		}
		heard := all.Choices[0]
		reply := conversation.Reply{Text: heard.Message.Content, Cut: heard.FinishReason == "length"}
		for _, c := range heard.Message.ToolCalls {
			arguments := c.Function.Arguments
			if arguments == "" {
				arguments = "{}"
			}
			reply.Calls = append(reply.Calls, conversation.Call{ID: c.ID, Name: c.Function.Name, Arguments: arguments})
		}
		return reply, nil
	},
}

// chunk is one part of a stream.
func chunk(delta, finish string) string {
	return `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}` + "\n\n"
}
