import type { Place } from "@/app/place";
import { shellWord } from "@/app/shell-word";

// Commands of pages that have nothing yet: how to get the first one. They need nothing but the SDK and its configuration,
// so that a person who pastes one into a shell has something on the page. A test in the browser runs each of them.

const where = ({ project, domain }: Place) => `-p ${shellWord(project)} -d ${shellWord(domain)}`;

/** Runs the workflow that is in the SDK. */
export const firstRun = (place: Place): string => `flyte run ${where(place)} hello`;

/** Serves the app that is in the SDK. */
export const firstApp = (place: Place): string => `flyte serve ${where(place)} hello`;

export const firstTask = (place: Place): string => `cat > first_task.py <<'END'
import flyte

env = flyte.TaskEnvironment(name="hello")

@env.task
def main(name: str = "world") -> str:
    return f"Hello, {name}!"
END
flyte deploy ${where(place)} first_task.py env`;

/** In code, because \X takes only tasks that have an input for the time. */
export const firstTrigger = (place: Place): string => `cat > first_trigger.py <<'END'
import flyte

env = flyte.TaskEnvironment(name="nightly")
at_three = flyte.Trigger(name="at-three", automation=flyte.Cron("0 3 * * *"))

@env.task(triggers=at_three)
def main() -> str:
    return "Good night!"
END
flyte deploy ${where(place)} first_trigger.py env`;

export const firstArtifact = (place: Place): string => `echo 'Hello, world!' > first_artifact.txt
flyte create artifact ${where(place)} hello --from-file first_artifact.txt`;

export const firstProject = "flyte create project --id my-project --name 'My project'";

/** The place has no project for secrets of a domain or the organization, and no domain for those of the organization. */
export const firstSecret = ({ project, domain }: Place): string =>
  ["flyte create secret my-key", project && `-p ${shellWord(project)}`, domain && `-d ${shellWord(domain)}`].filter(Boolean).join(" ");
