"""Gives whole frames the answers of the scenes that they show, and says which frames are to be looked at."""

from __future__ import annotations

from collections.abc import Collection

from operators.frames.changes import thumbnail
from operators.frames.frame import Frame
from operators.recognise.objects.look_rule import SCENE_RULE, SceneRule
from operators.recognise.objects.objects import Objects
from operators.recognise.objects.pool import ObjectAnswer
from operators.recognise.objects.scene import Scene
from operators.recognise.recogniser import Recogniser
from serving.common.threads import in_thread


class Scenes(Objects):
    """The scenes of all streams of a node whose objects are whole frames."""

    def __init__(self, recogniser: Recogniser, pictures: Collection[str] = (), rule: SceneRule = SCENE_RULE) -> None:
        """``pictures``: streams of single pictures, each of which is looked at: none shows what another does."""
        super().__init__(recogniser)
        self._pictures, self._scene_rule = pictures, rule
        self._scenes: dict[str, Scene] = {}

    async def see(self, frame: Frame) -> int | None:
        """Find out whether a frame is to be looked at, before ``due``; returns the number that stands for its track.

        None for a single picture.
        """
        if frame.stream in self._pictures:
            return None
        _, gone = self._run(frame)
        scene = self._scenes[frame.stream]
        scene.gone += gone
        if scene.asks(frame.media_time_s):
            await in_thread(lambda: scene.see(thumbnail(frame.pixels)))
        return scene.number

    @property
    def pool_rule(self) -> None:
        """A scene's answer is that of its latest looks: it has several."""
        return None

    def begin(self, stream: str) -> Scene:
        found = self._scenes[stream] = Scene(self.words, self._scene_rule)
        return found

    def forget(self, stream: str) -> list[ObjectAnswer]:
        """Drop a stream; returns what was found out of its last scene, if there is no conclusion yet."""
        self._scenes.pop(stream, None)
        return super().forget(stream)
