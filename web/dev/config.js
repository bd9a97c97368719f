// What the fixture backend offers: tools, a Guild that is accepted and one that is not, words for reasons.

const TOOLS = [
  ["read_file", "Read file", "read"],
  ["list_files", "List files", "read"],
  ["search_files", "Search files", "read"],
  ["write_file", "Write file", "write"],
  ["edit_file", "Edit file", "write"],
  ["run_shell", "Run shell", "write"],
  ["update_plan", "Update plan", "read"],
  ["delegate", "Delegate", "read"],
  ["ask_human", "Ask a person", "read"],
  ["finish", "Finish", "read"],
  ["deploy_service", "Deploy service", "consequential"],
];
const GUILD = {
  namespace: "demo",
  name: "repair",
  accepted: true,
  digest: "7".repeat(64),
  spec: {
    entryRole: "planner",
    models: { main: "scripted:repair" },
    roles: [
      {
        name: "planner",
        label: "Planner",
        description: "Finds the cause and plans.",
        prompt: "…",
        model: "main",
        tools: ["list_files", "search_files", "read_file", "update_plan", "delegate", "ask_human", "finish"],
        delegates: ["coder", "reviewer"],
      },
      {
        name: "coder",
        label: "Coder",
        description: "Makes the change.",
        prompt: "…",
        model: "main",
        tools: ["read_file", "search_files", "edit_file", "write_file", "run_shell", "finish"],
      },
      {
        name: "reviewer",
        label: "Reviewer",
        description: "Reads the change as a stranger would.",
        prompt: "…",
        model: "main",
        tools: ["read_file", "run_shell", "deploy_service", "finish"],
      },
      {
        name: "warden",
        label: "Warden",
        description: "Wakes when somebody goes in circles.",
        prompt: "…",
        model: "main",
        tools: ["recent_role_tool_calls", "trigger_interrupt"],
        handler: { on: "loop" },
      },
    ],
  },
};

export const CONFIG = {
  version: "0.1.0",
  user: "jane@example.test",
  namespaces: ["demo", "team-a"],
  isolationRequired: true,
  signIn: "token",
  images: ["python:3.11-slim-bookworm"],
  guilds: [
    GUILD,
    {
      namespace: "demo",
      name: "draft",
      accepted: false,
      message: "role 'coder': unknown tool 'shell'",
      spec: { ...GUILD.spec, roles: [] },
    },
  ],
  tools: TOOLS.map(([name, label, effect]) => ({ name, label, effect })),
  reasons: {
    IsolationNotEnforced: "This cluster does not enforce the network policy",
    QuotaExceeded: "The namespace's quota is full",
    ProviderFailed: "The model provider failed",
    Completed: "Completed",
    Cancelled: "Stopped by a person",
  },
};
